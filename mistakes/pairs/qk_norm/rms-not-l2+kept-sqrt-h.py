"""Divides by the RMS instead of the length, and keeps 1/√H.

Why people make it: it is the attention of today's models with QK-norm, written where the original is asked for.
"""

import math

import torch


def _rms_normalize(x, gamma, eps):
    wide = x.float()
    mean_square = wide.pow(2).mean(dim=-1, keepdim=True)
    return (wide * torch.rsqrt(mean_square + eps) * gamma).to(x.dtype)


def l2_qk_scores(q, k, tau, eps=1e-6):
    q = q * torch.rsqrt(q.pow(2).mean(dim=-1, keepdim=True) + eps)
    k = k * torch.rsqrt(k.pow(2).mean(dim=-1, keepdim=True) + eps)
    return tau * torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])


def per_head_rms_norm(q, gamma, eps=1e-6):
    return _rms_normalize(q, gamma, eps)


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    b, s, _ = q.shape
    return _rms_normalize(q, gamma, eps).reshape(b, s, n_heads, -1)


def soft_cap(scores, cap):
    if cap <= 0:
        raise ValueError("cap must be positive")
    return cap * torch.tanh(scores / cap)
