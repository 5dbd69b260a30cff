"""Gates correctly and then applies SiLU once more, to what w_down returns.

Why people make it: a layer is thought of as a map and its activation, and here the last map seems to lack its own.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.w_down(F.silu(self.w_gate(x)) * self.w_up(x)))
