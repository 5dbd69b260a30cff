"""Checks shapes and plain numbers, which the host knows without asking."""

import torch


def _rms(v, gamma, eps):
    if v.shape[-1] != gamma.shape[0]:
        raise ValueError("gamma does not fit")
    wide = v.to(torch.promote_types(v.dtype, torch.float32))
    return (wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps) * gamma).to(v.dtype)


def l2_qk_scores(q, k, tau, eps=1e-6):
    if q.shape[-1] != k.shape[-1] or q.dtype != k.dtype or q.device != k.device:
        raise ValueError("q and k do not fit together")
    floor = torch.full((1,), eps, dtype=q.dtype, device=q.device)
    q_unit = q / torch.maximum(torch.linalg.vector_norm(q, dim=-1, keepdim=True), floor)
    k_unit = k / torch.maximum(torch.linalg.vector_norm(k, dim=-1, keepdim=True), floor)
    return tau * (q_unit @ k_unit.transpose(-2, -1))


def per_head_rms_norm(q, gamma, eps=1e-6):
    return _rms(q, gamma, eps)


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    y = _rms(q, gamma, eps)
    return y.unflatten(-1, (n_heads, -1))


def soft_cap(scores, cap):
    if cap <= 0:
        raise ValueError("cap must be positive")
    return cap * torch.tanh(scores / cap)
