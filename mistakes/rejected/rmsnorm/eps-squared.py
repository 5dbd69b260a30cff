"""Adds eps² under the root instead of eps.

Why people make it: eps is thought of as the smallest RMS, and what stands beside the mean of the squares looks as if it
should be squared too.
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
        rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps**2)
        return (x / rms).to(in_dtype) * self.gamma
