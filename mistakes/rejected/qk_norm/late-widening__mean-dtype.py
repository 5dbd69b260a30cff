"""Asks the mean for float32 and hands it squares in the input's dtype, in both norms.

Why people make it: `dtype=` on the reduction looks like the whole answer.
"""

import torch
from einops import rearrange


def l2_qk_scores(q, k, tau, eps=1e-6):
    q = q / torch.linalg.vector_norm(q, dim=-1, keepdim=True).clamp_min(eps)
    k = k / torch.linalg.vector_norm(k, dim=-1, keepdim=True).clamp_min(eps)
    return torch.einsum("...sh,...th->...st", q, k) * tau


def per_head_rms_norm(q, gamma, eps=1e-6):
    mean_square = torch.mean(q * q, dim=-1, keepdim=True, dtype=torch.float32)
    return (gamma * (q.float() * torch.rsqrt(mean_square + eps))).to(q.dtype)


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    mean_square = torch.mean(q * q, dim=-1, keepdim=True, dtype=torch.float32)
    out = (gamma * (q.float() * torch.rsqrt(mean_square + eps))).to(q.dtype)
    return rearrange(out, "b s (n h) -> b s n h", n=n_heads)


def soft_cap(scores, cap):
    if cap <= 0:
        raise ValueError(f"cap={cap} is not positive")
    scores = scores / cap
    scores = torch.tanh(scores)
    return scores * cap
