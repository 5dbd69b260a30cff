"""Makes b positive by squaring.

Why people make it: a square is never negative, and everything else under the root is one.
"""

import torch
from torch import nn


class DyT(nn.Module):
    def __init__(self, d_model: int, alpha0: float = 0.5):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1) * alpha0)
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return self.gamma * torch.tanh(self.alpha * x) + self.beta


class DyISRU(nn.Module):
    def __init__(self, d_model: int, b0: float = 4.0):
        super().__init__()
        self.r = nn.Parameter(torch.tensor([b0**0.5]))
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return self.gamma * x / torch.sqrt(self.r**2 + x**2) + self.beta
