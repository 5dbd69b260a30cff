"""Divides each head by its largest magnitude before squaring, with eps scaled to match."""

import torch


def _rms_normalize(x, gamma, eps):
    wide = x.float()
    top = wide.abs().amax(dim=-1, keepdim=True).clamp_min(1e-12).detach()
    small = wide / top
    return (small / torch.sqrt(small.pow(2).mean(-1, keepdim=True) + eps / top**2) * gamma).to(x.dtype)


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
