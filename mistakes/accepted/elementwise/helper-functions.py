"""The curves are functions, and the modules hold their parameters only."""

import math

import torch
from torch import nn


def softplus(r):
    return torch.clamp(r, min=0) + torch.log1p(torch.exp(-torch.abs(r)))


def inverse_softplus(b):
    return b + math.log(-math.expm1(-b))


def isru(x, b):
    return x / torch.sqrt(b + x * x)


def affine(y, gamma, beta):
    return gamma * y + beta


class DyT(nn.Module):
    def __init__(self, d_model, alpha0=0.5):
        super().__init__()
        self.d_model = d_model
        self.register_parameter("alpha", nn.Parameter(torch.tensor([float(alpha0)])))
        self.register_parameter("gamma", nn.Parameter(torch.ones(d_model)))
        self.register_parameter("beta", nn.Parameter(torch.zeros(d_model)))

    def extra_repr(self):
        return f"d_model={self.d_model}"

    def forward(self, x):
        return affine(torch.tanh(self.alpha * x), self.gamma, self.beta)


class DyISRU(nn.Module):
    def __init__(self, d_model, b0=4.0):
        super().__init__()
        if b0 <= 0:
            raise ValueError("b0 must be positive")
        self.d_model = d_model
        self.register_parameter("r", nn.Parameter(torch.tensor([inverse_softplus(b0)])))
        self.register_parameter("gamma", nn.Parameter(torch.ones(d_model)))
        self.register_parameter("beta", nn.Parameter(torch.zeros(d_model)))

    def forward(self, x):
        return affine(isru(x, softplus(self.r)), self.gamma, self.beta)
