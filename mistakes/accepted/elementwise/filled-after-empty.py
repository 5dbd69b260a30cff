"""Parameters are made empty and filled by reset_parameters."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class DyT(nn.Module):
    def __init__(self, d_model: int, alpha0: float = 0.5):
        super().__init__()
        self.alpha0 = alpha0
        self.alpha = nn.Parameter(torch.empty(1))
        self.gamma = nn.Parameter(torch.empty(d_model))
        self.beta = nn.Parameter(torch.empty(d_model))
        nn.init.constant_(self.alpha, alpha0)
        nn.init.ones_(self.gamma)
        nn.init.zeros_(self.beta)

    def forward(self, x):
        return self.gamma * torch.tanh(self.alpha * x) + self.beta


class DyISRU(nn.Module):
    def __init__(self, d_model: int, b0: float = 4.0):
        super().__init__()
        self.r = nn.Parameter(torch.empty(()))
        self.gamma = nn.Parameter(torch.empty(d_model))
        self.beta = nn.Parameter(torch.empty(d_model))
        with torch.no_grad():
            self.r.fill_(b0 + math.log1p(-math.exp(-b0)))
            self.gamma.fill_(1.0)
            self.beta.zero_()

    def forward(self, x):
        b = F.softplus(self.r)
        return self.gamma * x / torch.sqrt(b + x**2) + self.beta
