"""Sums the squares instead of averaging them, so the result has length 1 and not RMS 1.

Why people make it: dividing a vector by its Euclidean length is the familiar kind of normalising, and the M of RMS
gets lost.
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
        norm = torch.sqrt(x.pow(2).sum(dim=-1, keepdim=True) + self.eps)
        return (x / norm).to(in_dtype) * self.gamma
