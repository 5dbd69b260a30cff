"""The output is w_down(silu(w_up(x))): the gate projection is created but never used.

Why people make it: the forward pass of an ordinary two-matrix MLP is kept and only the activation is
exchanged.
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
        hidden = F.silu(self.w_up(x))
        return self.w_down(hidden)
