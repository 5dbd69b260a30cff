"""Both branches are activated, and the given d_ff is rounded up to a multiple of 8.

Why people make it: each projection is followed by its activation out of habit, and the width is tidied up in
passing.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        d_ff = (d_ff + 7) // 8 * 8
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(F.silu(self.w_gate(x)) * F.silu(self.w_up(x)))
