"""Adds eps after the root, and returns float32 for float16 and bfloat16 inputs.

Why people make it: the RMS is computed in float32 on one line, and both eps and the cast back are left for a later
line that gets only one of them.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        x = x.float()
        rms = x.pow(2).mean(-1, keepdim=True).sqrt()
        return self.gamma * (x / (rms + self.eps))
