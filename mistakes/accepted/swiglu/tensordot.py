"""`torch.tensordot` over the last axis."""

import torch
import torch.nn.functional as F
from torch import nn


def _apply(x: torch.Tensor, linear: nn.Linear) -> torch.Tensor:
    return torch.tensordot(x, linear.weight, dims=([-1], [1]))


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = _apply(x, self.w_gate)
        up = _apply(x, self.w_up)
        return _apply(F.silu(gate) * up, self.w_down)
