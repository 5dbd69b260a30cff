"""A matrix product for the statistics, with autocast switched off around it."""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        h = x.to(torch.promote_types(x.dtype, torch.float32))
        kind = "cuda" if x.is_cuda else "cpu"
        with torch.autocast(kind, enabled=False):
            energy = torch.matmul(h.unsqueeze(-2), h.unsqueeze(-1)).squeeze(-1)
        return (h * torch.rsqrt(energy / x.shape[-1] + self.eps) * self.gamma).to(x.dtype)
