"""Subtracts the mean of each row, and never multiplies by the gain.

Why people make it: a standardising function from an earlier course is put into forward as it is; it centres, and it
knows nothing of a parameter.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.float()
        mean = h.mean(dim=-1, keepdim=True)
        var = h.var(dim=-1, keepdim=True, unbiased=False)
        return ((h - mean) / torch.sqrt(var + self.eps)).to(x.dtype)
