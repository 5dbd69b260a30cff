"""Makes a tensor of tau with torch.as_tensor, which keeps a learned one in the graph."""

import torch


def l2_qk_scores(q, k, tau, eps=1e-6):
    tau = torch.as_tensor(tau, dtype=q.dtype, device=q.device)
    q_hat = q / q.norm(p=2, dim=-1, keepdim=True).clamp_min(eps)
    k_hat = k / k.norm(p=2, dim=-1, keepdim=True).clamp_min(eps)
    return torch.mul(tau, torch.matmul(q_hat, k_hat.mT))


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
