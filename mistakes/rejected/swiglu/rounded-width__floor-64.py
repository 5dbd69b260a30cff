"""The d_ff that was passed in is rounded down to a multiple of 64, which is width 0 (and an output of zeros) below 64.

Why people make it: integer division looks like rounding, and at the widths of real models the result is even
the same.
"""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int, multiple_of: int = 64):
        super().__init__()
        self.d_ff = d_ff // multiple_of * multiple_of
        self.w_gate = nn.Linear(d_model, self.d_ff, bias=False)
        self.w_up = nn.Linear(d_model, self.d_ff, bias=False)
        self.w_down = nn.Linear(self.d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = self.w_gate(x)
        return self.w_down(gate * torch.sigmoid(gate) * self.w_up(x))
