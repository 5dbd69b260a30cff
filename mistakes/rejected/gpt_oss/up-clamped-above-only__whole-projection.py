"""Clamps the packed projection once, above only, before the split.

Why people make it: one clamp for both branches is tidier, and the gate's is the one that was remembered.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(torch.clamp(packed, max=limit))
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
