"""Never uses tau, and leaves the keys as they are.

Why people make it: half of the formula is written, tried on unit vectors, and left.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def l2_qk_scores(q: Tensor, k: Tensor, tau: float | Tensor, eps: float = 1e-6) -> Tensor:
    q_hat = F.normalize(q, p=2.0, dim=-1, eps=eps)
    return q_hat @ k.mT


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
