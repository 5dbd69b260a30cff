"""Builds the gain with torch.Tensor(d_model), which allocates d_model numbers and sets none of them.

Why people make it: older code makes parameters this way and fills them in `reset_parameters`; the constructor is
copied and the method is not. Some think that the call returns zeros or ones.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6, device=None):
        super().__init__()
        self.eps = eps
        self.register_parameter("weight", nn.Parameter(torch.Tensor(d_model).to(device)))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        normed = wide * (wide.square().mean(-1, keepdim=True) + self.eps).rsqrt()
        return self.weight * normed.type_as(x)
