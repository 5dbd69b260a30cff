"""Flattens the leading axes to rows, normalises the rows and restores the shape."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        rows = x.reshape(-1, self.d_model).float()
        rms = torch.sqrt(rows.pow(2).mean(dim=1, keepdim=True) + self.eps)
        out = (rows / rms).to(x.dtype) * self.gamma
        return out.reshape(x.shape)
