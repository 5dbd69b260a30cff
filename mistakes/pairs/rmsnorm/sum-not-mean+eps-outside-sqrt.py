"""Divides by the Euclidean length instead of the RMS, and adds eps to the length.

Why people make it: it is the textbook way to make a unit vector, with the usual guard against a division by zero.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        wide = x.to(torch.float32)
        length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
        return (wide / (length + self.eps)).to(x.dtype) * self.gamma
