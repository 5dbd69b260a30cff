"""Fills gamma with whole numbers, which no optimiser can train.

Why people make it: a row of ones is written as a list of integers, torch refuses gradients for it, and the error's words
suggest to ask for none.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.tensor([1] * d_model), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        rms = (wide.square().mean(-1, keepdim=True) + self.eps).sqrt()
        return (wide / rms * self.gamma).to(x.dtype)
