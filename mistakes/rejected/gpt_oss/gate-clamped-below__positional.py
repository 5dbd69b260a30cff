"""`clamp(limit)` is clamp from below: every gate is at least limit.

Why people make it: the first number that clamp takes by position is its lower bound.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = torch.clamp(gate, limit)
    up = torch.clamp(up, -limit, limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
