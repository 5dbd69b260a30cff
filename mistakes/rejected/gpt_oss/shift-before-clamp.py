"""Shifts the up branch first and clamps the shifted one.

Why people make it: the shift is taken for a part of the projection.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = (up + 1).clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * up
