"""Scales the clamped gate by alpha and goes on with the scaled one.

Why people make it: the product alpha times gate is stored under the gate's name.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = alpha * gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(gate) * (up + 1)
