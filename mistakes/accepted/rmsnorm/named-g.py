"""The gain is called g."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.g = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        a = x.float()
        rms = ((a**2).sum(-1, keepdim=True) / self.d_model + self.eps) ** 0.5
        return (a / rms).to(x.dtype) * self.g
