"""Squares in the dtype of the input and widens afterwards, when float16 squares have overflowed already.

Why people make it: they know that the mean has to be taken in float32 and put the cast where the mean is, one step
too late.
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
        ms = x.pow(2).to(torch.float32).mean(dim=-1, keepdim=True)
        x = x.to(torch.float32) / torch.sqrt(ms + self.eps)
        return x.to(in_dtype) * self.gamma
