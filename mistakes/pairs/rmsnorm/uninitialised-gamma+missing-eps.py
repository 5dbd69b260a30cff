"""Never fills the gain, and never uses eps.

Why people make it: a class that only ever ran on a loaded checkpoint and on ordinary activations shows neither.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model = d_model
        self.gamma = nn.Parameter(torch.empty(d_model))

    def forward(self, x):
        in_dtype = x.dtype
        x = x.float()
        rms = x.norm(2, dim=-1, keepdim=True) * self.d_model**-0.5
        return (x / rms).to(in_dtype) * self.gamma
