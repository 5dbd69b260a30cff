"""Everything is computed in float32 and cast back."""

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
        y = torch.tanh(self.alpha.float() * x.float())
        return (self.gamma.float() * y + self.beta.float()).type_as(x)


class DyISRU(nn.Module):
    def __init__(self, d_model: int, b0: float = 4.0):
        super().__init__()
        self.r = nn.Parameter(torch.tensor([math.log(math.exp(b0) - 1)]))
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        h = x.float()
        y = h * torch.rsqrt(F.softplus(self.r.float()) + h.pow(2))
        return (y * self.gamma.float() + self.beta.float()).to(x.dtype)
