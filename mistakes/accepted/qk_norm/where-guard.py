"""Guards short vectors with torch.where."""

import torch


def _unit(x, eps):
    length = (x * x).sum(-1, keepdim=True).sqrt()
    return x / torch.where(length > eps, length, torch.full_like(length, eps))


def l2_qk_scores(q, k, tau, eps=1e-6):
    return _unit(q, eps) @ _unit(k, eps).transpose(-1, -2) * tau


def per_head_rms_norm(q, gamma, eps=1e-6):
    x = q.float()
    rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (x / rms * gamma).to(q.dtype)


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    batch, seq, width = q.shape
    x = q.float()
    rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps)
    x = (x / rms * gamma).to(q.dtype)
    return x.reshape(batch, seq, n_heads, width // n_heads)


def soft_cap(scores, cap):
    if cap <= 0:
        raise ValueError("cap must be positive")
    return cap * torch.tanh(scores / cap)
