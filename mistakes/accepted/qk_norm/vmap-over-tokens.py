"""Writes the norm for one row and maps it over all of them."""

import torch


def l2_qk_scores(q, k, tau, eps=1e-6):
    q_norm = q.norm(dim=-1, keepdim=True).clamp(min=eps)
    k_norm = k.norm(dim=-1, keepdim=True).clamp(min=eps)
    return tau * torch.matmul(q / q_norm, (k / k_norm).transpose(-2, -1))


def per_head_rms_norm(q, gamma, eps=1e-6):
    def one(row):
        return row * torch.rsqrt(torch.dot(row, row) / row.numel() + eps) * gamma.float()

    rows = q.float().reshape(-1, q.shape[-1])
    return torch.vmap(one)(rows).reshape(q.shape).to(q.dtype)


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
