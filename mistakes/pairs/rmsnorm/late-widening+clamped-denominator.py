"""Squares before it widens, and puts a floor under the RMS instead of adding eps.

Why people make it: both are precautions for numerical trouble, each taken one step away from where it helps.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        rms = (x**2).float().mean(dim=-1, keepdim=True).sqrt()
        out = x.float() / rms.clamp_min(self.eps)
        return out.to(x.dtype) * self.gamma
