"""A torch.autograd.Function with its backward written by hand serves both norms."""

import torch


def l2_qk_scores(q, k, tau, eps=1e-6):
    q_norm = q.norm(dim=-1, keepdim=True).clamp(min=eps)
    k_norm = k.norm(dim=-1, keepdim=True).clamp(min=eps)
    return tau * torch.matmul(q / q_norm, (k / k_norm).transpose(-2, -1))


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps):
        wide = x.float()
        inverse = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(wide * inverse, inverse)
        return (wide * inverse).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        y, inverse = ctx.saved_tensors
        along = (grad.float() * y).mean(-1, keepdim=True)
        return ((grad.float() - y * along) * inverse).to(grad.dtype), None


def per_head_rms_norm(q, gamma, eps=1e-6):
    return _Normalise.apply(q, eps) * gamma


def full_width_rms_norm(q, gamma, n_heads, eps=1e-6):
    y = _Normalise.apply(q, eps) * gamma
    return y.reshape(q.shape[0], q.shape[1], n_heads, -1)


def soft_cap(scores, cap):
    if cap <= 0:
        raise ValueError("cap must be positive")
    return cap * torch.tanh(scores / cap)
