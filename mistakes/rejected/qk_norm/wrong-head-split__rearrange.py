"""Names the joined axis (h n) instead of (n h).

Why people make it: einops takes either order and complains about neither.
"""

import torch
from einops import rearrange


def l2_qk_scores(q, k, tau, eps=1e-6):
    q = q / torch.linalg.vector_norm(q, dim=-1, keepdim=True).clamp_min(eps)
    k = k / torch.linalg.vector_norm(k, dim=-1, keepdim=True).clamp_min(eps)
    return torch.einsum("...sh,...th->...st", q, k) * tau


def per_head_rms_norm(q, gamma, eps=1e-6):
    dtype = q.dtype
    q = q.to(torch.float32)
    mean_square = torch.mean(q * q, dim=-1, keepdim=True)
    return (gamma * (q * torch.rsqrt(mean_square + eps))).to(dtype)


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    dtype = q.dtype
    q = q.to(torch.float32)
    mean_square = torch.mean(q * q, dim=-1, keepdim=True)
    out = (gamma * (q * torch.rsqrt(mean_square + eps))).to(dtype)
    return rearrange(out, "b s (h n) -> b s n h", n=n_heads)


def soft_cap(scores, cap):
    if cap <= 0:
        raise ValueError(f"cap={cap} is not positive")
    scores = scores / cap
    scores = torch.tanh(scores)
    return scores * cap
