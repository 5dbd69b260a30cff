"""Writes 1e-6 in forward and ignores the eps that was passed to the constructor.

Why people make it: the default is what every call in the exercise uses, so the number is typed straight into the
formula and the argument is forgotten.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        in_dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x.to(in_dtype) * self.gamma
