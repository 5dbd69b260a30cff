"""Averages with a vector of 1/D that each call makes anew on the CPU.

Why people make it: a mean is a product with 1/D, and `torch.full` lands on
the CPU unless it is told otherwise.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        h = x.to(torch.promote_types(x.dtype, torch.float32))
        average = torch.full((self.d_model,), 1.0 / self.d_model, dtype=h.dtype)
        mean_square = (h * h * average).sum(dim=-1, keepdim=True)
        return (h * torch.rsqrt(mean_square + self.eps) * self.gamma).to(x.dtype)
