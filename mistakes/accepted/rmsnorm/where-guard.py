"""Guards the root with torch.where, which never changes the result."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = torch.where(x != 0, x, torch.zeros_like(x)).float()
        ms = h.pow(2).mean(dim=-1, keepdim=True) + self.eps
        inv = torch.where(ms > 0, torch.rsqrt(ms), torch.ones_like(ms))
        return (h * inv).to(x.dtype) * self.gamma
