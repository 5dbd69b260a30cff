"""The gain is called scale."""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        rms = (wide.square().mean(-1, keepdim=True) + self.eps).sqrt()
        return (wide / rms * self.scale).to(x.dtype)
