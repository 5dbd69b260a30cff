"""The gate is activated with GELU, and only three-dimensional input is accepted.

Why people make it: the MLP of an earlier GPT-2 exercise, shape unpacking included, is turned into a gated
one.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, seq, d_model = x.shape
        x = x.reshape(batch * seq, d_model)
        x = self.w_down(F.gelu(self.w_gate(x)) * self.w_up(x))
        return x.reshape(batch, seq, d_model)
