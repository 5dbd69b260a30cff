"""Averages the squares over the sequence axis, so every feature gets its own RMS instead of every token.

Why people make it: in an einops pattern the axis that is left out of the right-hand side is the one that is averaged;
many read it the other way round and keep the feature axis that they "want to normalise".
"""

import torch
from einops import reduce
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        xf = x.float()
        pattern = "... s d -> ... 1 d" if x.ndim > 1 else "d -> 1"
        rms = reduce(xf * xf, pattern, "mean").add(self.eps).sqrt()
        return (xf / rms * self.scale).to(x.dtype)
