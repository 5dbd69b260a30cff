"""Computes the RMS under no_grad, so the gradient treats it as a constant.

Why people make it: statistics feel like something that is measured and not learnt, as the running averages of batch
normalisation are. The values are right, and training goes on, only worse.
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
        with torch.no_grad():
            rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return (x / rms).to(in_dtype) * self.gamma
