"""The gate is a plain sigmoid, and all three maps have a bias.

Why people make it: the original gated linear unit is described with a sigmoid and biases, and it is what a
search for GLU finds first.
"""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff)
        self.w_up = nn.Linear(d_model, d_ff)
        self.w_down = nn.Linear(d_ff, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(self.w_up(x) * torch.sigmoid(self.w_gate(x)))
