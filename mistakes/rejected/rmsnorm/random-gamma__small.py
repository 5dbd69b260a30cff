"""Draws the starting gain from a small uniform range around zero.

Why people make it: that is how nn.Linear fills its weights, and the gain is filled in the same way.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(d_model).uniform_(-0.1, 0.1))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        rms = torch.sqrt(torch.mean(wide * wide, dim=-1, keepdim=True) + self.eps)
        return (wide / rms * self.weight).to(x.dtype)
