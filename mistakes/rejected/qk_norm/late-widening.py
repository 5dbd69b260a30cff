"""Squares in the input's dtype and widens the squares, in both norms.

Why people make it: the mean has to be taken in float32, so the cast is put where the mean is, one step too late.
"""

import torch


def _rms_normalize(x, gamma, eps):
    mean_square = x.pow(2).float().mean(dim=-1, keepdim=True)
    return (x.float() * torch.rsqrt(mean_square + eps) * gamma).to(x.dtype)


def l2_qk_scores(q, k, tau, eps=1e-6):
    q_norm = q.norm(dim=-1, keepdim=True).clamp(min=eps)
    k_norm = k.norm(dim=-1, keepdim=True).clamp(min=eps)
    return tau * torch.matmul(q / q_norm, (k / k_norm).transpose(-2, -1))


def per_head_rms_norm(q, gamma, eps=1e-6):
    return _rms_normalize(q, gamma, eps)


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    b, s, _ = q.shape
    return _rms_normalize(q, gamma, eps).reshape(b, s, n_heads, -1)


def soft_cap(scores, cap):
    if cap <= 0:
        raise ValueError("cap must be positive")
    return cap * torch.tanh(scores / cap)
