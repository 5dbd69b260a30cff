"""Makes gamma a parameter that takes no gradient.

Why people make it: the gain starts at ones and is meant to change nothing at first, so it is switched off like a frozen
weight, and nobody switches it on again.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model), requires_grad=False)

    def forward(self, x):
        in_dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x.to(in_dtype) * self.gamma
