"""Squares torch.linalg.vector_norm and divides by D, so that eps still goes under the root."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.float()
        length = torch.linalg.vector_norm(h, dim=-1, keepdim=True)
        rms = torch.sqrt(length**2 / self.d_model + self.eps)
        return (h / rms).to(x.dtype) * self.gamma
