"""The two branches go through `F.glu`, which gates with a plain sigmoid rather than SiLU.

Why people make it: torch has an operator with GLU in its name, and it looks as though it must be the gated
unit being asked for.
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
        packed = torch.cat([self.w_up(x), self.w_gate(x)], dim=-1)
        return self.w_down(F.glu(packed, dim=-1))
