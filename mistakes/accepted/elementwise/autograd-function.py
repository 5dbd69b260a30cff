"""The inverse square root unit has a backward of its own."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class ISRU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, b):
        inv = torch.rsqrt(b + x * x)
        ctx.save_for_backward(x, b, inv)
        return x * inv

    @staticmethod
    def backward(ctx, grad):
        x, b, inv = ctx.saved_tensors
        cubed = inv**3
        return grad * b * cubed, (-0.5 * grad * x * cubed).sum().reshape(b.shape)


class DyT(nn.Module):
    def __init__(self, d_model, alpha0=0.5):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1) * alpha0)
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return self.gamma * torch.tanh(self.alpha * x) + self.beta


class DyISRU(nn.Module):
    def __init__(self, d_model, b0=4.0):
        super().__init__()
        self.r = nn.Parameter(torch.tensor(math.log(math.expm1(b0))))
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return self.gamma * ISRU.apply(x, F.softplus(self.r)) + self.beta
