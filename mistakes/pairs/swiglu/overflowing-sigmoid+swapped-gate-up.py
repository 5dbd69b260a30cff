"""SiLU acts on the up branch, and its sigmoid exp(z) / (1 + exp(z)) is NaN where that branch is large.

Why people make it: SiLU is written out from the logistic function's definition, and the helper is then given
the wrong projection.
"""

import torch
from torch import nn


def _silu(z: torch.Tensor) -> torch.Tensor:
    return z * torch.exp(z) / (1 + torch.exp(z))


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(_silu(self.w_up(x)) * self.w_gate(x))
