"""The activation runs one step too late: on gate times up, not on gate.

Why people make it: the forward pass is written as project, combine, activate, project, the order of most
layers.
"""

import torch
from torch import nn


class SwiGLU(nn.Module):
    """Gated feed-forward: [..., D] -> [..., D]."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.w_up(x)
        hidden = hidden * self.w_gate(x)
        hidden = hidden * hidden.sigmoid()
        return self.w_down(hidden)
