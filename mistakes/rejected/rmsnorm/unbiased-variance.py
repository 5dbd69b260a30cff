"""Divides the sum of squares by D − 1 instead of D.

Why people make it: Bessel's correction is what statistics courses teach and what `torch.var` does by default. At a
large D the difference is small.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        in_dtype = x.dtype
        x = x.to(torch.float32)
        var = x.pow(2).sum(dim=-1, keepdim=True) / (self.d_model - 1)
        return (x / torch.sqrt(var + self.eps)).to(in_dtype) * self.gamma
