"""Starts the gain at ones and multiplies by 1 + gamma, so the output is doubled at the start.

Why people make it: some published models store the gain as an offset from one (and start it at zeros); the forward
pass is copied from there and the initial value from somewhere else.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        h = h * (1.0 + self.gamma.float())
        return h.type_as(x)
