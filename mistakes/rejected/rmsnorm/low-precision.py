"""Squares, averages and divides in the dtype of the input: float16 overflows, bfloat16 rounds at every step.

Why people make it: the formula is right and float32 tests pass; that the dtype of the statistics is a decision of its
own does not come up until a model runs in half precision.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return x / rms * self.gamma
