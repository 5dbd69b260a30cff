"""Unpacks the shape into three names, so only inputs of rank 3 are accepted.

Why people make it: every activation in the notes has the shape [B, S, D], and unpacking it is how their functions
begin.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        B, S, D = x.shape
        in_dtype = x.dtype
        x = x.to(torch.float32)
        ms = x.pow(2).sum(dim=-1).view(B, S, 1) / D
        return (x / torch.sqrt(ms + self.eps)).to(in_dtype) * self.gamma
