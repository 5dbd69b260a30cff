"""Names all three axes in an einsum, so an input of any other rank raises.

Why people make it: einsum invites a letter for each axis, and the ellipsis that would stand for the leading ones is
less known.
"""

import torch
from torch import Tensor, einsum, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        xf = x.float()
        mean_square = einsum("bsd,bsd->bs", xf, xf) / self.d_model
        inv = torch.rsqrt(mean_square + self.eps)
        out = einsum("bsd,bs->bsd", xf, inv)
        return (out * self.weight).to(x.dtype)
