"""Divides by the mean of the absolute values, plus eps, instead of by the root of the mean square.

Why people make it: the RMS is remembered as the average size of the features, and the absolute value gives a size.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        in_dtype = x.dtype
        x = x.to(torch.float32)
        size = x.abs().mean(dim=-1, keepdim=True) + self.eps
        return (x / size).to(in_dtype) * self.gamma
