"""The curve is computed in float32, gain and shift in the input's dtype."""

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
        return torch.tanh(x.float() * self.alpha.float()).to(x.dtype) * self.gamma + self.beta


class DyISRU(nn.Module):
    def __init__(self, d_model: int, b0: float = 4.0):
        super().__init__()
        self.r = nn.Parameter(torch.tensor([math.log(math.exp(b0) - 1)]))
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        h = x.float()
        y = h / torch.sqrt(F.softplus(self.r.float()) + h * h)
        return y.to(x.dtype) * self.gamma + self.beta
