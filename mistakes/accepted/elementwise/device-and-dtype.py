"""Optional device and dtype arguments."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class DyT(nn.Module):
    def __init__(self, d_model: int, alpha0: float = 0.5, device=None, dtype=None):
        super().__init__()
        kw = {"device": device, "dtype": dtype}
        self.alpha = nn.Parameter(torch.full((1,), alpha0, **kw))
        self.gamma = nn.Parameter(torch.ones(d_model, **kw))
        self.beta = nn.Parameter(torch.zeros(d_model, **kw))

    def forward(self, x):
        return self.gamma * torch.tanh(self.alpha * x) + self.beta


class DyISRU(nn.Module):
    def __init__(self, d_model: int, b0: float = 4.0, *, device=None, dtype=None):
        super().__init__()
        kw = {"device": device, "dtype": dtype}
        self.r = nn.Parameter(torch.full((1,), math.log(math.expm1(b0)), **kw))
        self.gamma = nn.Parameter(torch.ones(d_model, **kw))
        self.beta = nn.Parameter(torch.zeros(d_model, **kw))

    def forward(self, x):
        b = F.softplus(self.r)
        return self.gamma * x / torch.sqrt(b + x**2) + self.beta
