"""Asks the mean to accumulate in float32, but hands it squares that were made in the narrow dtype.

Why people make it: `dtype=` on the reduction looks like the whole answer to "use float32 for the statistics"; the
product in its argument is evaluated first.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        mean_square = torch.mean(x * x, dim=-1, keepdim=True, dtype=torch.float32)
        scale = torch.rsqrt(mean_square + self.eps)
        return (x.float() * scale * self.weight).type_as(x)
