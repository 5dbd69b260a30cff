"""A float32 buffer that meets the output in the output's own dtype, and a branch on a shape that stays one graph."""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.register_buffer("one", torch.ones(1))
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        h = x.to(torch.promote_types(x.dtype, torch.float32))
        if x.numel() > 8192:
            squares = h * h
        else:
            squares = h.square()
        y = (h * torch.rsqrt(squares.mean(dim=-1, keepdim=True) + self.eps) * self.gamma).to(x.dtype)
        return y * self.one.to(y.dtype)
