"""SiLU is z / (1 + exp(-z)), whose gradient is NaN for a large negative gate, and w_down has a bias.

Why people make it: everything is written out by hand and checked forward on small numbers with a freshly
built layer.
"""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = self.w_gate(x)
        return self.w_down(z / (1 + torch.exp(-z)) * self.w_up(x))
