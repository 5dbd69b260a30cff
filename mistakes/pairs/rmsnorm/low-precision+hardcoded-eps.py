"""Works in the dtype of the input, and uses 1e-6 whatever eps was passed.

Why people make it: the one-line formula is typed as it stands in a float32 notebook, constant included.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gamma
