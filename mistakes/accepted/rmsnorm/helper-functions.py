"""The arithmetic stands in functions outside the class, one of them with the name of a library operator."""

import torch
from torch import Tensor, nn


def mean_square(x: Tensor) -> Tensor:
    return x.pow(2).mean(dim=-1, keepdim=True)


def rms_norm(x: Tensor, gamma: Tensor, eps: float) -> Tensor:
    wide = x.to(torch.float32)
    normed = wide / torch.sqrt(mean_square(wide) + eps)
    return normed.to(x.dtype) * gamma


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.gamma, self.eps)
