"""Cuts the scale out of the graph with detach, so no gradient flows through the root mean square.

Why people make it: detaching a normaliser is a known trick elsewhere (the maximum in a softmax), where it changes
nothing; here it changes the derivative.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def _scale(self, x: Tensor) -> Tensor:
        energy = torch.linalg.vecdot(x, x, dim=-1) / x.shape[-1]
        return (energy + self.eps).rsqrt()[..., None]

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        scale = self._scale(wide.detach())
        return (self.weight * (wide * scale)).to(x.dtype)
