"""Has 1e-5 as the default eps instead of 1e-6; an eps that is passed is used.

Why people make it: 1e-5 is the default of LayerNorm and the value in many published configurations, and it is typed
from memory.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        in_dtype = x.dtype
        x = x.to(torch.float32)
        rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return (x / rms).to(in_dtype) * self.gamma
