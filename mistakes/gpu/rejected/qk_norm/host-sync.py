"""Raises where the norms' input is not finite, after a look at every value.

Why people make it: a check of the arguments is good manners,
and on the CPU it costs little.
"""

import torch


def l2_qk_scores(q, k, tau, eps=1e-6):
    q_unit = q / q.norm(dim=-1, keepdim=True).clamp_min(eps)
    k_unit = k / k.norm(dim=-1, keepdim=True).clamp_min(eps)
    return tau * (q_unit @ k_unit.transpose(-2, -1))


def _checked(v):
    if not torch.isfinite(v).all():
        raise ValueError("not finite")
    return v


def _rms(v, gamma, eps):
    wide = _checked(v).to(torch.promote_types(v.dtype, torch.float32))
    mean_square = wide.pow(2).mean(dim=-1, keepdim=True)
    return (wide * torch.rsqrt(mean_square + eps) * gamma).to(v.dtype)


def per_head_rms_norm(q, gamma, eps=1e-6):
    return _rms(q, gamma, eps)


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    b, s, width = q.shape
    return _rms(q, gamma, eps).reshape(b, s, n_heads, width // n_heads)


def soft_cap(scores, cap):
    if cap <= 0:
        raise ValueError("cap must be positive")
    return cap * torch.tanh(scores / cap)
