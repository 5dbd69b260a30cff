"""SiLU as `F.glu` of the gate paired with itself."""

import torch
import torch.nn.functional as F
from torch import nn


def _silu(z: torch.Tensor) -> torch.Tensor:
    return F.glu(torch.cat([z, z], dim=-1), dim=-1)


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(_silu(self.w_gate(x)) * self.w_up(x))
