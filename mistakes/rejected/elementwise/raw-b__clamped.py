"""Uses the parameter itself as b, kept above a small number.

Why people make it: a clamp makes b positive too, if one does not ask about its gradient.
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
        self.r = nn.Parameter(torch.full((1,), b0))
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        b = self.r.clamp(min=1e-6)
        return self.gamma * x / torch.sqrt(b + x**2) + self.beta
