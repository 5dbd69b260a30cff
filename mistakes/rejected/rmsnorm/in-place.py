"""Multiplies the caller's tensor in place: the values come back right, and the input is overwritten.

Why people make it: `x *= ...` reads as a shorter `x = x * ...`, and a reassigned argument feels local to the
function. In a residual block the stream that should pass by unchanged is then normalised too.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        inv_rms = torch.rsqrt(x.to(torch.float32).pow(2).mean(dim=-1, keepdim=True) + self.eps)
        x *= inv_rms
        return x * self.gamma
