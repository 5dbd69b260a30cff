"""Gain and shift are a module of their own."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Affine(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d))
        self.beta = nn.Parameter(torch.zeros(d))

    def forward(self, y):
        return self.gamma * y + self.beta


class DyT(nn.Module):
    def __init__(self, d_model, alpha0=0.5):
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(alpha0))
        self.affine = Affine(d_model)

    def forward(self, x):
        return self.affine(torch.tanh(self.alpha * x))


class DyISRU(nn.Module):
    def __init__(self, d_model, b0=4.0):
        super().__init__()
        self.r = nn.Parameter(torch.tensor(math.log(math.exp(b0) - 1)))
        self.affine = Affine(d_model)

    def forward(self, x):
        return self.affine(x / torch.sqrt(F.softplus(self.r) + x**2))
