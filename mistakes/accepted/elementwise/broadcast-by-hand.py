"""Parameters are given the rank of x before they meet it."""

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
        shape = [1] * (x.dim() - 1) + [-1]
        gamma, beta = self.gamma.view(shape), self.beta.view(shape)
        return gamma * torch.tanh(self.alpha.view([1] * x.dim()) * x) + beta


class DyISRU(nn.Module):
    def __init__(self, d_model: int, b0: float = 4.0):
        super().__init__()
        self.r = nn.Parameter(torch.tensor([math.log(math.exp(b0) - 1)]))
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        b = F.softplus(self.r)
        y = flat / (flat.pow(2) + b).sqrt() * self.gamma[None] + self.beta[None]
        return y.reshape(x.shape)
