"""Adds the one to the gate's factor.

Why people make it: the wrong one of two factors was remembered as the shifted one.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return (gate * torch.sigmoid(alpha * gate) + 1) * up
