"""The floor is torch.maximum with a tensor of eps."""

import torch


def l2_qk_scores(q, k, tau, eps=1e-6):
    floor = torch.tensor(eps, dtype=q.dtype, device=q.device)
    q_hat = q / torch.maximum(torch.norm(q, dim=-1, keepdim=True), floor)
    k_hat = k / torch.maximum(torch.norm(k, dim=-1, keepdim=True), floor)
    return torch.matmul(tau * q_hat, torch.swapaxes(k_hat, -1, -2))


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
