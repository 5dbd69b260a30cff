"""Writes the norm for one row and maps it over all rows with torch.vmap."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def _row(self, row):
        return row * torch.rsqrt(torch.dot(row, row) / row.numel() + self.eps)

    def forward(self, x):
        rows = x.float().reshape(-1, x.shape[-1])
        out = torch.vmap(self._row)(rows)
        return out.reshape(x.shape).to(x.dtype) * self.gamma
