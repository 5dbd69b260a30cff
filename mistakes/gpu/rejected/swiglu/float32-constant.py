"""Multiplies its output by a float32 buffer of one.

Why people make it: an output scale that begins at one is added for later
experiments; as a buffer it follows `.to(bfloat16)`, and in an autocast region it stays float32.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)
        self.register_buffer("output_scale", torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x)) * self.output_scale
