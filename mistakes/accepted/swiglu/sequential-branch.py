"""The gate and its activation run through an `nn.Sequential` made at call time."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate_branch = nn.Sequential(self.w_gate, nn.SiLU())
        return self.w_down(torch.mul(gate_branch(x), self.w_up(x)))
