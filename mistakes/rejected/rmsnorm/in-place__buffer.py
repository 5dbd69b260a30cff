"""Stores the normalised values in the input's own memory, so the caller finds a changed tensor.

Why people make it: activations are large and the input "is not needed any more", so its buffer is used again; going
through `.data` quiets autograd's complaint.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32, copy=True)
        rms = (wide.square().mean(-1, keepdim=True) + self.eps).sqrt()
        normed = (wide / rms).to(x.dtype)
        x.data.copy_(normed.detach())
        return normed * self.weight
