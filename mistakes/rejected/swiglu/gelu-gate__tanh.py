"""The gate is activated with the tanh approximation of GELU instead of SiLU.

Why people make it: the GPT-2 style helper is carried over from an earlier assignment and only the gating is
new.
"""

import math

import torch
from torch import nn


def _act(z: torch.Tensor) -> torch.Tensor:
    inner = math.sqrt(2.0 / math.pi) * (z + 0.044715 * z * z * z)
    return 0.5 * z * (1.0 + torch.tanh(inner))


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = _act(self.w_gate(x))
        up = self.w_up(x)
        return self.w_down(gate * up)
