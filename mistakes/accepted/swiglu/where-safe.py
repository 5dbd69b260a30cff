"""A two-branch sigmoid whose unpicked branch gets a harmless argument, so its gradient is safe."""

import torch
from torch import nn


def _silu(z: torch.Tensor) -> torch.Tensor:
    positive = z >= 0
    zero = torch.zeros_like(z)
    z_pos = torch.where(positive, z, zero)
    z_neg = torch.where(positive, zero, z)
    e = torch.exp(z_neg)
    return z * torch.where(positive, 1 / (1 + torch.exp(-z_pos)), e / (1 + e))


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(_silu(self.w_gate(x)) * self.w_up(x))
