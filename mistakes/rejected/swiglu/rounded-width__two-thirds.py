"""The given d_ff is cut to two thirds and rounded up to a multiple of 256, as if it were the width of an ungated MLP.

Why people make it: the public Llama code does this inside its feed-forward class, where the argument it
receives is 4 * dim.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int, multiple_of: int = 256):
        super().__init__()
        hidden_dim = int(2 * d_ff / 3)
        hidden_dim = multiple_of * ((hidden_dim + multiple_of - 1) // multiple_of)
        self.w_gate = nn.Linear(d_model, hidden_dim, bias=False)
        self.w_up = nn.Linear(d_model, hidden_dim, bias=False)
        self.w_down = nn.Linear(hidden_dim, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))
