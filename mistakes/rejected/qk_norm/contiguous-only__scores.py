"""Joins the leading axes of q and k with view for bmm, which raises for transposed ones.

Why people make it: bmm wants three axes, and view is the quickest way there.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def l2_qk_scores(q: Tensor, k: Tensor, tau: float | Tensor, eps: float = 1e-6) -> Tensor:
    q_rows = F.normalize(q.view(-1, *q.shape[-2:]), dim=-1, eps=eps)
    k_rows = F.normalize(k.view(-1, *k.shape[-2:]), dim=-1, eps=eps)
    scores = tau * torch.bmm(q_rows, k_rows.mT)
    return scores.view(*q.shape[:-1], k.shape[-2])


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
