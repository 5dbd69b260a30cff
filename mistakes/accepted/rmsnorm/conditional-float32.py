"""Widens only float16 and bfloat16; float32 and float64 stay as they are."""

import torch
from torch import nn

_HALF = (torch.float16, torch.bfloat16)


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.float() if x.dtype in _HALF else x
        h = h / torch.sqrt((h * h).mean(dim=-1, keepdim=True) + self.eps)
        out = h * self.gamma
        return out.to(x.dtype)
