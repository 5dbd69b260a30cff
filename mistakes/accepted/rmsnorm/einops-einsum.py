"""Sums the squares with einops.einsum and puts the axis back with rearrange."""

import torch
from einops import einsum, rearrange
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.float()
        square_sum = einsum(h, h, "... d, ... d -> ...")
        rms = torch.sqrt(square_sum / self.d_model + self.eps)
        return (h / rearrange(rms, "... -> ... 1") * self.gamma).to(x.dtype)
