"""Works in float64 and casts back."""

import torch


def l2_qk_scores(q, k, tau, eps=1e-6):
    q_norm = q.norm(dim=-1, keepdim=True).clamp(min=eps)
    k_norm = k.norm(dim=-1, keepdim=True).clamp(min=eps)
    return tau * torch.matmul(q / q_norm, (k / k_norm).transpose(-2, -1))


def per_head_rms_norm(q, gamma, eps=1e-6):
    x = q.double()
    return (x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * gamma.double()).to(q.dtype)


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    x = q.double()
    x = x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * gamma.double()
    return x.to(q.dtype).view(q.size(0), q.size(1), n_heads, -1)


def soft_cap(scores, cap):
    if cap <= 0:
        raise ValueError("cap must be positive")
    return cap * torch.tanh(scores / cap)
