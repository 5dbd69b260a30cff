"""Divides torch.square(x).sum by the size of the last axis."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        *_, D = x.shape
        h = x.to(torch.float32)
        ms = torch.square(h).sum(dim=-1, keepdim=True) / D
        h = h / torch.sqrt(ms + self.eps)
        return torch.mul(h, self.gamma).to(x.dtype)
