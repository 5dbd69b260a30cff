"""Changes x, and has another default alpha0.

Why people make it: memory is saved at the wrong end, and a one is typed for a half.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class DyT(nn.Module):
    def __init__(self, d_model: int, alpha0: float = 1.0):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1) * alpha0)
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        x.mul_(self.alpha)
        return torch.tanh(x) * self.gamma + self.beta


class DyISRU(nn.Module):
    def __init__(self, d_model: int, b0: float = 4.0):
        super().__init__()
        self.r = nn.Parameter(torch.tensor([math.log(math.exp(b0) - 1)]))
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        b = F.softplus(self.r)
        x /= torch.sqrt(x**2 + b)
        return x * self.gamma + self.beta
