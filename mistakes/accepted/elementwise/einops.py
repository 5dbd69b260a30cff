"""einsum of einops for the gain."""

import math

import torch
import torch.nn.functional as F
from einops import einsum
from torch import nn


class DyT(nn.Module):
    def __init__(self, d_model: int, alpha0: float = 0.5):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1) * alpha0)
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return einsum(torch.tanh(self.alpha * x), self.gamma, "... d, d -> ... d") + self.beta


class DyISRU(nn.Module):
    def __init__(self, d_model: int, b0: float = 4.0):
        super().__init__()
        self.r = nn.Parameter(torch.tensor([math.log(math.exp(b0) - 1)]))
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        y = x / torch.sqrt(F.softplus(self.r) + x**2)
        return einsum(y, self.gamma, "... d, d -> ... d") + self.beta
