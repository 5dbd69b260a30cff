"""Looks whether there is anything but zeros before it divides.

Why people make it: a division by nearly nothing looks dangerous, and on the
CPU the look costs nothing; on a GPU the host waits until the device has caught up.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        if not x.any():
            return x * self.gamma
        h = x.to(torch.promote_types(x.dtype, torch.float32))
        rms = torch.sqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return (h / rms * self.gamma).to(x.dtype)
