"""Has an extra_repr and a read-only property beside the two methods that are asked for."""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """Divides every row by its root mean square."""

    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = float(eps)
        self.gamma = nn.Parameter(torch.ones(d_model))

    @property
    def d_model(self) -> int:
        return self.gamma.numel()

    def extra_repr(self) -> str:
        return f"{self.d_model}, eps={self.eps}"

    def forward(self, x: Tensor) -> Tensor:
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).sum(-1, keepdim=True) / self.d_model + self.eps)).to(x.dtype) * self.gamma
