"""The input shape is unpacked into exactly three names, so only [B, S, D] input works.

Why people make it: every activation in the model is [B, S, D], and naming the axes makes the code easier to
follow.
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
        B, S, D = x.shape
        tokens = x.reshape(B * S, D)
        hidden = F.silu(self.w_gate(tokens)) * self.w_up(tokens)
        return self.w_down(hidden).reshape(B, S, D)
