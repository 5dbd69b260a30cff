"""Subtracts the mean of each row before dividing, which is layer normalisation.

Why people make it: LayerNorm is the norm they met first, and "normalise" means mean 0 and variance 1 to them. On
roughly centred random input the two results look alike.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        in_dtype = x.dtype
        x = x.to(torch.float32)
        x = x - x.mean(dim=-1, keepdim=True)
        rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return (x / rms).to(in_dtype) * self.gamma
