"""A stable sigmoid written into an empty tensor by boolean masks."""

import torch
from torch import nn


def _silu(z: torch.Tensor) -> torch.Tensor:
    sigmoid = torch.empty_like(z)
    positive = z >= 0
    sigmoid[positive] = 1 / (1 + torch.exp(-z[positive]))
    e = torch.exp(z[~positive])
    sigmoid[~positive] = e / (1 + e)
    return z * sigmoid


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(_silu(self.w_gate(x)) * self.w_up(x))
