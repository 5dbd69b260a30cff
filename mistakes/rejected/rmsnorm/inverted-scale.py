"""Divides by √D after dividing by the length, where it should multiply: every result is D times too small.

Why people make it: RMS is the length over √D, so √D belongs on top of the fraction; in rewriting the fraction it ends
up below. Attention's 1/√H makes a division by a root look familiar.
"""

import math

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        in_dtype = x.dtype
        x = x.to(torch.float32)
        norm = torch.sqrt(x.pow(2).sum(dim=-1, keepdim=True) + self.d_model * self.eps)
        x = x / norm / math.sqrt(self.d_model)
        return x.to(in_dtype) * self.gamma
