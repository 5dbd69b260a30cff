"""One hand-written `torch.autograd.Function` for silu(gate) * up, which recomputes SiLU backward."""

import torch
from torch import nn


class _GatedProduct(torch.autograd.Function):
    @staticmethod
    def forward(gate, up):
        return gate * torch.sigmoid(gate) * up

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        s = torch.sigmoid(gate)
        silu = gate * s
        return grad * up * (s + silu * (1 - s)), grad * silu


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(_GatedProduct.apply(self.w_gate(x), self.w_up(x)))
