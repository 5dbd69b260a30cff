"""Averages over the sequence axis instead of the features, and leaves the gain out.

Why people make it: the axis is guessed from the shape, and with a gain of ones the first run raises no suspicion
about either.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        dim = -2 if x.ndim >= 2 else 0
        h = x.to(torch.float32)
        h = h / torch.sqrt((h**2).mean(dim, keepdim=True) + self.eps)
        return h.to(x.dtype)
