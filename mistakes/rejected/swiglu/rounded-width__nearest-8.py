"""The d_ff that was passed in is rounded to the nearest multiple of 8.

Why people make it: tensor cores like multiples of 8, and the tidy-up is done in the constructor so that no
caller has to think of it.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        hidden = max(8, (d_ff + 4) // 8 * 8)
        self.w_gate = nn.Linear(d_model, hidden, bias=False)
        self.w_up = nn.Linear(d_model, hidden, bias=False)
        self.w_down = nn.Linear(hidden, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))
