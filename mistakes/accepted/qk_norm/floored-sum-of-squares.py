"""Floors the sum of the squares with eps² and takes the reciprocal root, in float32."""

import torch
from torch import Tensor


def l2_qk_scores(q: Tensor, k: Tensor, tau: float | Tensor, eps: float = 1e-6) -> Tensor:
    def unit(x: Tensor) -> Tensor:
        wide = x.float()
        return wide * torch.rsqrt(wide.square().sum(-1, keepdim=True).clamp_min(eps**2))

    return (tau * (unit(q) @ unit(k).mT)).to(q.dtype)


def per_head_rms_norm(q: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    wide = q.to(torch.float32)
    inverse = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return (wide * inverse).type_as(q) * gamma


def full_width_rms_norm(q: Tensor, gamma: Tensor, n_heads: int, eps: float = 1e-6) -> Tensor:
    wide = q.to(torch.float32)
    inverse = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    normed = (wide * inverse).type_as(q) * gamma
    return normed.unflatten(-1, (n_heads, -1))


def soft_cap(scores: Tensor, cap: float) -> Tensor:
    if not cap > 0:
        raise ValueError(f"expected a positive cap, got {cap}")
    return (scores / cap).tanh() * cap
