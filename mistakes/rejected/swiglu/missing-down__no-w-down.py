"""There is no w_down at all: the module has two projections and returns the gated product of width d_ff.

Why people make it: SwiGLU is taken for an activation function, with the projection back to the model width
left to the caller.
"""

import torch
from torch import nn


class SwiGLU(nn.Module):
    """The SwiGLU activation."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = self.w_gate(x)
        swish = gate * torch.sigmoid(gate)
        return swish * self.w_up(x)
