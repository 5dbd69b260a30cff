"""Does all the arithmetic in half precision when the input is in half precision.

Why people make it: they take it that torch widens inside its reductions, which protects the sum but not the squares
or the division around it.
"""

import torch
from torch import Tensor, nn


def _inverse_rms(x: Tensor, eps: float) -> Tensor:
    mean_square = torch.mean(x * x, -1)
    return torch.rsqrt(mean_square + eps).unsqueeze(-1)


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        normed = x * _inverse_rms(x, self.eps)
        return self.weight * normed
