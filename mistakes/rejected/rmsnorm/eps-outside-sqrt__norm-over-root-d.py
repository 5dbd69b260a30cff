"""Computes the RMS as the length over the root of D and adds eps to that, outside the root.

Why people make it: the length comes from one library call that hides its root, so the only place left for eps is
after it.
"""

import math

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.root_d = math.sqrt(d_model)
        self.eps = eps
        self.g = nn.Parameter(torch.ones(d_model))

    def _rms(self, x: Tensor) -> Tensor:
        return torch.linalg.vector_norm(x, ord=2, dim=-1, keepdim=True) / self.root_d

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        out = self.g * wide * torch.reciprocal(self._rms(wide) + self.eps)
        return out.to(x.dtype)
