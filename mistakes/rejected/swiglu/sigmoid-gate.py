"""The gate passes through a sigmoid instead of SiLU, which makes this the original GLU.

Why people make it: a gate is remembered as a number between 0 and 1, as in an LSTM, and the extra factor z of
SiLU is forgotten.
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
        gate = torch.sigmoid(self.w_gate(x))
        return self.w_down(gate * self.w_up(x))
