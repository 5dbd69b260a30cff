"""Takes the mean square over the second last axis (the sequence) instead of the last one (the features).

Why people make it: with an input of shape [B, S, D] it is easy to count the axes from the wrong end, or to think that
a norm looks "across the tokens" as batch normalisation looks across the batch. The shapes fit, so nothing complains.
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
        axis = max(x.dim() - 2, 0)
        ms = x.pow(2).mean(dim=axis, keepdim=True)
        x = x * torch.rsqrt(ms + self.eps)
        return x.to(in_dtype) * self.gamma
