"""Floors the lengths with a vector that lies on the CPU.

Why people make it: `torch.maximum` wants two tensors, and the second is made
on the spot.
"""

import torch


def _unit(v, eps):
    length = torch.linalg.vector_norm(v, dim=-1, keepdim=True)
    return v / torch.maximum(length, torch.full((1,), eps, dtype=v.dtype))


def l2_qk_scores(q, k, tau, eps=1e-6):
    return tau * (_unit(q, eps) @ _unit(k, eps).transpose(-2, -1))


def _rms(v, gamma, eps):
    wide = v.to(torch.promote_types(v.dtype, torch.float32))
    mean_square = wide.pow(2).mean(dim=-1, keepdim=True)
    return (wide * torch.rsqrt(mean_square + eps) * gamma).to(v.dtype)


def per_head_rms_norm(q, gamma, eps=1e-6):
    return _rms(q, gamma, eps)


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    b, s, width = q.shape
    return _rms(q, gamma, eps).reshape(b, s, n_heads, width // n_heads)


def soft_cap(scores, cap):
    if cap <= 0:
        raise ValueError("cap must be positive")
    return cap * torch.tanh(scores / cap)
