"""Prints a warning when the batch is large, a line that was left in from debugging.

Why people make it: the line never ran on the small shapes of the tests, so nobody
took it out.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        if x.numel() > 8192:
            print("large input", tuple(x.shape))
        h = x.to(torch.promote_types(x.dtype, torch.float32))
        inv = torch.rsqrt(h.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return (h * inv * self.gamma).to(x.dtype)
