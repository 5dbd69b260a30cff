"""Clamps each branch as it should and then sends up, not the gate, through the sigmoid.

Why people make it: once both are clamped, the names are short and look alike.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    g, u = split_gate_up(packed)
    g = g.clamp(max=limit)
    u = u.clamp(-limit, limit)
    return u * torch.sigmoid(alpha * u) * (g + 1)
