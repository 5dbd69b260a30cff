"""Calls clamp on the gate and throws the result away.

Why people make it: clamp without an underscore returns a new tensor, and the line looks as if it did something.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate.clamp(max=limit)
    up = torch.clip(up, -limit, limit)
    return (gate * torch.sigmoid(gate * alpha)) * (1 + up)
