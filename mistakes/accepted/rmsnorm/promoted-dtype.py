"""Works in the wider of the input's dtype and float32, found with torch.promote_types."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        work = torch.promote_types(x.dtype, torch.float32)
        h = x.to(work)
        inv = torch.rsqrt(torch.mean(torch.square(h), -1, keepdim=True) + self.eps)
        return (h * inv * self.gamma.to(work)).to(x.dtype)
