"""Builds the gain from a Python list of ones and adds up the squares in a Python loop."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.tensor([1.0] * d_model))

    def forward(self, x):
        h = x.to(torch.float32)
        mean_square = sum(h[..., i] ** 2 for i in range(h.shape[-1])) / h.shape[-1]
        rms = (mean_square + self.eps) ** 0.5
        return (h / rms[..., None] * self.gamma).to(x.dtype)
