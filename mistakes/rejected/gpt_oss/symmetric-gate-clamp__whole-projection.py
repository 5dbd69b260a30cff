"""Clamps the packed projection once, on both sides, before the split.

Why people make it: one clamp instead of two is tidier, and the limit is the same number for both branches.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed.clamp(min=-limit, max=limit))
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
