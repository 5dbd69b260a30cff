"""The gate is activated with ReLU instead of SiLU (ReGLU).

Why people make it: ReLU is the reflex activation of a feed-forward layer, and the gated structure gets all
the attention.
"""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(torch.relu(self.w_gate(x)) * self.w_up(x))
