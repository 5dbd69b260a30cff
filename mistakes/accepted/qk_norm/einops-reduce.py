"""Takes the mean with einops.reduce."""

import torch
from einops import rearrange, reduce


def l2_qk_scores(q, k, tau, eps=1e-6):
    q = q / torch.linalg.vector_norm(q, dim=-1, keepdim=True).clamp_min(eps)
    k = k / torch.linalg.vector_norm(k, dim=-1, keepdim=True).clamp_min(eps)
    return torch.einsum("...sh,...th->...st", q, k) * tau


def per_head_rms_norm(q, gamma, eps=1e-6):
    wide = q.to(torch.float32)
    mean_square = reduce(wide.square(), "b s n h -> b s n 1", "mean")
    return (wide * (mean_square + eps).rsqrt() * gamma).to(q.dtype)


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    wide = rearrange(q.to(torch.float32), "b s (n h) -> b s n h", n=n_heads)
    gain = rearrange(gamma, "(n h) -> n h", n=n_heads)
    mean_square = reduce(wide.square(), "b s n h -> b s 1 1", "mean")
    return (wide * (mean_square + eps).rsqrt() * gain).to(q.dtype)


def soft_cap(scores, cap):
    if cap <= 0:
        raise ValueError(f"cap={cap} is not positive")
    scores = scores / cap
    scores = torch.tanh(scores)
    return scores * cap
