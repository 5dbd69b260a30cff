"""Does all of the arithmetic in float64."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.double()
        rms = h.square().mean(dim=-1, keepdim=True).add(self.eps).sqrt()
        return (h / rms * self.gamma.double()).to(x.dtype)
