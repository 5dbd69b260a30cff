"""The gain lives in a small private module, so its full name has a dot in it."""

import torch
from torch import nn


class _Gain(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return x * self.weight


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gain = _Gain(d_model)

    def forward(self, x):
        h = x.float()
        h = h / torch.sqrt(h.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return self.gain(h.to(x.dtype))
