"""Normalises queries and keys by their RMS and keeps 1/√H: the scores are √H times the cosines.

Why people make it: it is how today's models use QK-norm, and the original is thought to be the same.
"""

import torch
from torch import Tensor


def l2_qk_scores(q: Tensor, k: Tensor, tau: float | Tensor, eps: float = 1e-6) -> Tensor:
    ones = q.new_ones(q.shape[-1])
    q, k = per_head_rms_norm(q, ones, eps), per_head_rms_norm(k, ones, eps)
    return tau * (q @ k.mT) / q.shape[-1] ** 0.5


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
