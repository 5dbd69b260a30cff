"""Starts the gain at zeros, so a fresh module returns zeros and passes no gradient to its input.

Why people make it: models that multiply by 1 + gamma start it at zeros, and biases do as well; the value is taken
over without the one that goes with it.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        in_dtype = x.dtype
        x = x.to(torch.float32)
        rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return (x / rms).to(in_dtype) * self.gamma
