"""Never applies gamma, and works for three axes only.

Why people make it: shapes are written for the batch at hand, and ones do not show.
"""

import math

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
        B, S, D = x.shape
        return torch.tanh(self.alpha * x) + self.beta.expand(B, S, D)


class DyISRU(nn.Module):
    def __init__(self, d_model: int, b0: float = 4.0):
        super().__init__()
        self.r = nn.Parameter(torch.tensor([math.log(math.exp(b0) - 1)]))
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        B, S, D = x.shape
        b = F.softplus(self.r)
        return x / torch.sqrt(b + x**2) + self.beta.expand(B, S, D)
