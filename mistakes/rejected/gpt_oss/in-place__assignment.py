"""Assigns the clamped values into packed before the split.

Why people make it: masked assignment is how NumPy code clamps.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    packed[..., ::2] = packed[..., ::2].clamp(max=limit)
    packed[..., 1::2] = packed[..., 1::2].clamp(-limit, limit)
    gate, up = split_gate_up(packed)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
