"""Sums the squares with an einsum that has an ellipsis."""

import torch
from torch import einsum, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        x_f = x.float()
        mean_square = einsum("...d,...d->...", x_f, x_f) / self.d_model
        scale = torch.rsqrt(mean_square + self.eps)
        y = einsum("...d,...,d->...d", x_f, scale, self.gamma.float())
        return y.to(x.dtype)
