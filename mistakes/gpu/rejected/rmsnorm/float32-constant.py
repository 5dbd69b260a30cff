"""Multiplies the result by a float32 buffer of √D after the cast back.

Why people make it: the buffer follows `.to(bfloat16)`, so that everything
looks right until parameters and buffers keep different dtypes, as mixed precision has it.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps * d_model
        self.register_buffer("root_d", torch.full((1,), float(d_model) ** 0.5), persistent=False)
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        h = x.to(torch.promote_types(x.dtype, torch.float32))
        scale = self.root_d.to(h.dtype) * torch.rsqrt(h.pow(2).sum(dim=-1, keepdim=True) + self.eps)
        one = self.root_d / self.root_d
        return (h * scale * self.gamma).to(x.dtype) * one
