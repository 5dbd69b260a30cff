"""A torch.autograd.Function with its backward written by hand."""

import torch
from torch import nn


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gamma, eps):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        inv = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, gamma, inv)
        return (wide * inv * gamma).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_out):
        x, gamma, inv = ctx.saved_tensors
        unit = x.to(inv.dtype) * inv
        grad = grad_out.to(inv.dtype)
        grad_unit = grad * gamma
        grad_x = inv * (grad_unit - unit * (grad_unit * unit).mean(-1, keepdim=True))
        grad_gamma = (grad * unit).reshape(-1, x.shape[-1]).sum(0)
        return grad_x.to(x.dtype), grad_gamma.to(gamma.dtype), None


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return _Normalise.apply(x, self.gamma, self.eps)
