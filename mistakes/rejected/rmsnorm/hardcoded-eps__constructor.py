"""Sets self.eps to a constant in the constructor, so that the argument has no effect.

Why people make it: the line is copied from a class whose eps was fixed, and the new argument is added to the
signature later.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.d_model = d_model
        self.eps = 1e-6
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        mean_square = torch.einsum("...i,...i->...", wide, wide)[..., None] / self.d_model
        normed = wide / torch.sqrt(mean_square + self.eps)
        return (normed * self.weight).to(x.dtype)
