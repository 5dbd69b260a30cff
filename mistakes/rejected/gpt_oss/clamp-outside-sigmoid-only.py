"""Hands the unclamped gate to the sigmoid.

Why people make it: the sigmoid bounds itself, so only the factor in front of it seems to need a clamp.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    weight = torch.sigmoid(alpha * gate)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return gate * weight * (up + 1)
