"""Gate and up weights are concatenated at call time, multiplied once and split with chunk."""

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
        w_in = torch.cat([self.w_gate.weight, self.w_up.weight], dim=0)
        gate, up = F.linear(x, w_in).chunk(2, dim=-1)
        return self.w_down(F.silu(gate) * up)
