"""Registers the gain with register_parameter and reads it with getattr."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    _gain_name = "gamma"

    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.register_parameter(self._gain_name, nn.Parameter(torch.full((d_model,), 1.0)))

    def forward(self, x):
        gain = getattr(self, self._gain_name)
        h = x.float()
        norm = torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h * (norm * gain)).to(x.dtype)
