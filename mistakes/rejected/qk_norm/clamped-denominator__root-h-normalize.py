"""Multiplies F.normalize by √H, whose floor is not the eps of an RMS.

Why people make it: a unit vector times √H has RMS 1, which is nearly the whole truth.
"""

import torch.nn.functional as F
from torch import Tensor


def l2_qk_scores(q: Tensor, k: Tensor, tau: float | Tensor, eps: float = 1e-6) -> Tensor:
    q_hat = F.normalize(q, p=2.0, dim=-1, eps=eps)
    k_hat = F.normalize(k, p=2.0, dim=-1, eps=eps)
    return tau * (q_hat @ k_hat.mT)


def per_head_rms_norm(q: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    unit = F.normalize(q.float(), dim=-1, eps=eps * q.shape[-1] ** 0.5)
    return (unit * q.shape[-1] ** 0.5 * gamma).type_as(q)


def full_width_rms_norm(q: Tensor, gamma: Tensor, n_heads: int, eps: float = 1e-6) -> Tensor:
    unit = F.normalize(q.float(), dim=-1, eps=eps * q.shape[-1] ** 0.5)
    return (unit * q.shape[-1] ** 0.5 * gamma).type_as(q).unflatten(-1, (n_heads, -1))


def soft_cap(scores: Tensor, cap: float) -> Tensor:
    if not cap > 0:
        raise ValueError(f"expected a positive cap, got {cap}")
    return (scores / cap).tanh() * cap
