"""Averages the squares with einops.reduce."""

import torch
from einops import reduce
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.to(torch.float32)
        mean_square = reduce(h**2, "... d -> ... 1", "mean")
        return (h / torch.sqrt(mean_square + self.eps)).to(x.dtype) * self.gamma
