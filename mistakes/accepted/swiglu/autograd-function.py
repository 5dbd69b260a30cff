"""SiLU as a hand-written `torch.autograd.Function`."""

import torch
from torch import nn


class _SiLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        s = torch.sigmoid(z)
        ctx.save_for_backward(z, s)
        return z * s

    @staticmethod
    def backward(ctx, grad):
        z, s = ctx.saved_tensors
        return grad * (s + z * s * (1 - s))


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = _SiLU.apply(self.w_gate(x))
        return self.w_down(gate * self.w_up(x))
