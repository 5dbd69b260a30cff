"""Unpacks the shape into batch, sequence and features.

Why people make it: a projection is [B, S, 2F] in every diagram.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    batch, length, width = packed.shape
    pairs = packed.reshape(batch, length, width // 2, 2)
    return pairs[:, :, :, 0], pairs[:, :, :, 1]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
