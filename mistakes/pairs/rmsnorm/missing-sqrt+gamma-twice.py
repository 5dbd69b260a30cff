"""Divides by the mean square without a root, and multiplies by the gain twice.

Why people make it: with unit-scale input and a gain of ones both factors are one, so neither line is looked at again.
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
        mean_square = h.pow(2).mean(dim=-1, keepdim=True)
        scaled = h * self.gamma
        return (scaled / (mean_square + self.eps) * self.gamma).to(x.dtype)
