"""Raises the mean square to the power -0.5."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        wide = x.float()
        inverse_rms = (wide.pow(2).mean(dim=-1, keepdim=True) + self.eps) ** -0.5
        return (self.gamma * wide * inverse_rms).to(dtype=x.dtype)
