"""The clamped gate has a new name, and the product still has the old one.

Why people make it: a renamed variable is not renamed everywhere.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    bounded_gate = torch.clamp(gate, max=limit)
    bounded_up = torch.clamp(up, min=-limit, max=limit)
    weight = torch.sigmoid(alpha * bounded_gate)
    return gate * weight * (bounded_up + 1)
