"""An nn.Module does the work, and the function builds it."""

import torch
from torch import Tensor, nn


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


class ClampedSwiGLU(nn.Module):
    def __init__(self, alpha: float, limit: float):
        super().__init__()
        self.alpha, self.limit = alpha, limit

    def forward(self, packed: Tensor) -> Tensor:
        gate, up = split_gate_up(packed)
        gate, up = gate.clamp(max=self.limit), up.clamp(-self.limit, self.limit)
        return gate * torch.sigmoid(self.alpha * gate) * (up + 1)


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    return ClampedSwiGLU(alpha, limit)(packed)
