"""A small `nn.Module` of its own for SiLU."""

import torch
from torch import nn


class _SiLU(nn.Module):
    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return z * torch.sigmoid(z)


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)
        self.act = _SiLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(self.act(self.w_gate(x)) * self.w_up(x))
