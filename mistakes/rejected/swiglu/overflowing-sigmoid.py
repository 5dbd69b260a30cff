"""The sigmoid is exp(z) / (1 + exp(z)), which is NaN for a large positive gate.

Why people make it: it is the textbook form of the logistic function, and it is right for every number one
tries by hand.
"""

import torch
from torch import nn


def _silu(z: torch.Tensor) -> torch.Tensor:
    e = torch.exp(z)
    return z * (e / (1 + e))


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(_silu(self.w_gate(x)) * self.w_up(x))
