"""Scales the input by the gain first and normalises the product, so the gain enters the statistic.

Why people make it: "scale, then normalise" and "normalise, then scale" sound alike, and at a gain of ones (or of any
constant) they very nearly are.
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
        x = x.to(torch.float32) * self.gamma.to(torch.float32)
        rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return (x / rms).to(in_dtype)
