"""The given d_ff is rounded up to a multiple of 64, and the gate is activated with ReLU.

Why people make it: a ReGLU layer with hardware-friendly widths is at hand from another project and gets
renamed.
"""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        hidden = -(-d_ff // 64) * 64
        self.w_gate = nn.Linear(d_model, hidden, bias=False)
        self.w_up = nn.Linear(d_model, hidden, bias=False)
        self.w_down = nn.Linear(hidden, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(torch.relu(self.w_gate(x)) * self.w_up(x))
