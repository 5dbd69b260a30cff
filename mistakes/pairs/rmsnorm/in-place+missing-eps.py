"""Divides the caller's tensor in place, and has no eps in the denominator.

Why people make it: two lines that follow the formula x / RMS(x) literally, with the augmented assignment one would
use on numbers.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        rms = x.float().square().mean(-1, keepdim=True).sqrt()
        x /= rms
        return self.gamma * x
