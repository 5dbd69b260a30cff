"""Keeps eps in a buffer that is not saved with the module."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.register_buffer("eps", torch.tensor(eps, dtype=torch.float32), persistent=False)
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.float()
        h = h / torch.sqrt(h.pow(2).mean(dim=-1, keepdim=True) + self.eps.float())
        return h.to(x.dtype) * self.gamma
