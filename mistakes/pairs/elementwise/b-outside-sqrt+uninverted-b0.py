"""Adds b after the root, and starts r at b0.

Why people make it: b is treated as an eps, and softplus near 4 as the identity.
"""

import torch
import torch.nn.functional as F
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
        self.r = nn.Parameter(torch.tensor(b0))
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        b = F.softplus(self.r)
        return self.gamma * x / (b + x.square().sqrt()) + self.beta
