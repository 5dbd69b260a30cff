"""The activation slices by itself; the split is there for the caller."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate = torch.clamp(packed[..., ::2], max=limit)
    up = torch.clamp(packed[..., 1::2], min=-limit, max=limit)
    return torch.sigmoid(gate * alpha) * gate * (1 + up)
