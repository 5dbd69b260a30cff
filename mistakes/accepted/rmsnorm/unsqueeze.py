"""Reduces without keepdim and puts the axis back with unsqueeze."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.to(dtype=torch.float32)
        rms = torch.sqrt(h.pow(2).mean(-1) + self.eps)
        return torch.div(h, rms.unsqueeze(-1)).to(x.dtype).mul(self.gamma)
