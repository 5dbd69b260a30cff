"""The output is w_down(silu(w_up(x))) with the gate unused, and only three-dimensional input is accepted.

Why people make it: a two-matrix MLP with its shape unpacking is adapted by adding a projection and never
wiring it in.
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
        B, S, D = x.shape
        hidden = F.silu(self.w_up(x.reshape(B * S, D)))
        return self.w_down(hidden).reshape(B, S, D)
