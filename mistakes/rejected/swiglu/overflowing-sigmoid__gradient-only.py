"""SiLU is z / (1 + exp(-z)): the value is right everywhere, but the gradient is NaN for a large negative gate.

Why people make it: dividing by infinity gives the right zero, so the forward pass shows nothing wrong.
"""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = self.w_gate(x)
        silu = z / (1 + torch.exp(-z))
        return self.w_down(silu * self.w_up(x))
