"""Takes the mean squares of both norms with an einsum, which is a matrix product.

Why people make it: `torch.einsum` names the axes; that it ends in a matrix product, whose operands an autocast region
narrows again, cannot be seen in the line.
"""

import torch


def _rms_normalize(v, gamma, eps):
    wide = v.to(torch.promote_types(v.dtype, torch.float32))
    mean_square = torch.einsum("...h,...h->...", wide, wide)[..., None] / v.shape[-1]
    return (wide * torch.rsqrt(mean_square + eps) * gamma).to(v.dtype)


def l2_qk_scores(q, k, tau, eps=1e-6):
    q_unit = q / q.norm(dim=-1, keepdim=True).clamp_min(eps)
    k_unit = k / k.norm(dim=-1, keepdim=True).clamp_min(eps)
    return tau * (q_unit @ k_unit.transpose(-2, -1))


def per_head_rms_norm(q, gamma, eps=1e-6):
    return _rms_normalize(q, gamma, eps)


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    b, s, width = q.shape
    return _rms_normalize(q, gamma, eps).reshape(b, s, n_heads, width // n_heads)


def soft_cap(scores, cap):
    if cap <= 0:
        raise ValueError("cap must be positive")
    return cap * torch.tanh(scores / cap)
