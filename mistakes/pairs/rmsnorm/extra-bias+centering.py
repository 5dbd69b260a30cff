"""Adds a learned shift, and subtracts the mean: the whole of layer normalisation.

Why people make it: LayerNorm is written from memory under the new name, all four steps of it.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        in_dtype = x.dtype
        x = x.float()
        centered = x - x.mean(-1, keepdim=True)
        var = centered.square().mean(-1, keepdim=True)
        normed = centered * torch.rsqrt(var + self.eps)
        return (normed * self.gamma + self.beta).to(in_dtype)
