"""All parameters have names of the student's own."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class DyT(nn.Module):
    def __init__(self, d_model: int, alpha0: float = 0.5):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(alpha0))
        self.out_scale = nn.Parameter(torch.ones(d_model))
        self.out_shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return self.out_scale * torch.tanh(self.slope * x) + self.out_shift


class DyISRU(nn.Module):
    def __init__(self, d_model: int, b0: float = 4.0):
        super().__init__()
        self.raw_b = nn.Parameter(torch.tensor(math.log(math.expm1(b0))))
        self.out_shift = nn.Parameter(torch.zeros(d_model))
        self.out_scale = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        b = F.softplus(self.raw_b)
        return self.out_scale * x / torch.sqrt(b + x**2) + self.out_shift
