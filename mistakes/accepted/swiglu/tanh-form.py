"""SiLU through tanh: `0.5 z (1 + tanh(z / 2))`."""

import torch
from torch import nn


def _silu(z: torch.Tensor) -> torch.Tensor:
    return z * 0.5 * (1.0 + torch.tanh(z / 2))


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(_silu(self.w_gate(x)) * self.w_up(x))
