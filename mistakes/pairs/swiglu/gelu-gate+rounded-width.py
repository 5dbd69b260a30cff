"""The gate is activated with GELU, and the given d_ff is rounded up to a multiple of 32.

Why people make it: a GEGLU block from another project, which rounds its own widths, is renamed with little
else changed.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        hidden = (d_ff + 31) // 32 * 32
        self.w_gate = nn.Linear(d_model, hidden, bias=False)
        self.w_up = nn.Linear(d_model, hidden, bias=False)
        self.w_down = nn.Linear(hidden, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self.w_gate(x), self.w_up(x)
        return self.w_down(F.gelu(gate) * up)
