"""Fills the gain in a reset_parameters method."""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.gamma = nn.Parameter(torch.empty((d_model,)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        with torch.no_grad():
            self.gamma.fill_(1.0)

    def forward(self, x: Tensor) -> Tensor:
        h = x.float()
        inv = h.square().mean(-1, True).add(self.eps).rsqrt()
        return h.mul(inv).to(x.dtype).mul(self.gamma)
