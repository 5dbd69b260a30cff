"""Calls torch.mean with all of its arguments named."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(data=torch.ones(size=(d_model,)), requires_grad=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x.to(dtype=torch.float32)
        ms = torch.mean(input=torch.pow(input=h, exponent=2), dim=-1, keepdim=True)
        h = torch.mul(input=h, other=torch.rsqrt(input=ms + self.eps))
        return h.to(dtype=x.dtype) * self.gamma
