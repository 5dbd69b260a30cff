"""`nn.SiLU()` kept as an attribute."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    """Gated feed-forward block, [..., D] -> [..., D]."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(self.w_up(x) * self.act_fn(self.w_gate(x)))
