"""Normalises each head by itself where the projection is asked for, and divides the scores by √H.

Why people make it: both come from the attention of another model.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def l2_qk_scores(q: Tensor, k: Tensor, tau: float | Tensor, eps: float = 1e-6) -> Tensor:
    q_hat = F.normalize(q, p=2.0, dim=-1, eps=eps)
    k_hat = F.normalize(k, p=2.0, dim=-1, eps=eps)
    return tau * (q_hat @ k_hat.mT) / q.shape[-1] ** 0.5


def per_head_rms_norm(q: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    wide = q.to(torch.float32)
    inverse = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return (wide * inverse).type_as(q) * gamma


def full_width_rms_norm(q: Tensor, gamma: Tensor, n_heads: int, eps: float = 1e-6) -> Tensor:
    heads = q.unflatten(-1, (n_heads, -1))
    return per_head_rms_norm(heads, gamma.reshape(n_heads, -1), eps)


def soft_cap(scores: Tensor, cap: float) -> Tensor:
    if not cap > 0:
        raise ValueError(f"expected a positive cap, got {cap}")
    return (scores / cap).tanh() * cap
