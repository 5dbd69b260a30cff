"""Reshapes straight to [B, N, S, H] and swaps two axes, which mixes tokens and heads.

Why people make it: attention wants the heads second, so they are put there by the reshape itself.
"""

import torch


def _rms_normalize(x, gamma, eps):
    wide = x.float()
    mean_square = wide.pow(2).mean(dim=-1, keepdim=True)
    return (wide * torch.rsqrt(mean_square + eps) * gamma).to(x.dtype)


def l2_qk_scores(q, k, tau, eps=1e-6):
    q_norm = q.norm(dim=-1, keepdim=True).clamp(min=eps)
    k_norm = k.norm(dim=-1, keepdim=True).clamp(min=eps)
    return tau * torch.matmul(q / q_norm, (k / k_norm).transpose(-2, -1))


def per_head_rms_norm(q, gamma, eps=1e-6):
    return _rms_normalize(q, gamma, eps)


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    b, s, _ = q.shape
    return _rms_normalize(q, gamma, eps).reshape(b, n_heads, s, -1).transpose(1, 2)


def soft_cap(scores, cap):
    if cap <= 0:
        raise ValueError("cap must be positive")
    return cap * torch.tanh(scores / cap)
