"""Chooses between two formulas by the largest gate.

Why people make it: for gates of moderate size the plain formula is enough,
so the careful one is kept for the rare case; to know the case somebody must wait.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.w_gate(x)
        if gate.abs().max() < 20:
            hidden = gate / (1 + torch.exp(-gate))
        else:
            hidden = F.silu(gate)
        return self.w_down(hidden * self.w_up(x))
