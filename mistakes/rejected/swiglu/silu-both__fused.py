"""The activation is applied to the fused projection before it is split, so the up branch is activated too.

Why people make it: with both branches in one tensor, activating first and splitting afterwards is one line
either way.
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
        hidden = torch.cat([self.w_gate(x), self.w_up(x)], dim=-1)
        gate, up = F.silu(hidden).chunk(2, dim=-1)
        return self.w_down(gate * up)
