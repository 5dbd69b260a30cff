"""Gets the mean square as variance plus squared mean."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.float()
        m = h.mean(dim=-1, keepdim=True)
        mean_square = (h - m).pow(2).mean(dim=-1, keepdim=True) + m.pow(2)
        return (h * torch.rsqrt(mean_square + self.eps)).to(x.dtype) * self.gamma
