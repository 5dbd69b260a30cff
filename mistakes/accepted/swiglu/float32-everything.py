"""Input and weights are cast to float32, and the result is cast back to the input's dtype."""

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
        h = x.float()
        gate = F.linear(h, self.w_gate.weight.float())
        up = F.linear(h, self.w_up.weight.float())
        y = F.linear(F.silu(gate) * up, self.w_down.weight.float())
        return y.to(x.dtype)
