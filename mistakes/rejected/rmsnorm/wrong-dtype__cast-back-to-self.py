"""Remembers the dtype after the cast instead of before it, so the cast back is one from float32 to float32.

Why people make it: both lines are there, in the wrong order, and reading the code one sees a cast and a cast back.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def _norm(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.eps)

    def forward(self, x: Tensor) -> Tensor:
        x = x.float()
        input_dtype = x.dtype
        normed = self._norm(x).to(input_dtype)
        return self.weight * normed
