"""Clamps the gate inside the sigmoid, but multiplies by the unclamped one.

Why people make it: the clamp is seen as a guard of the exponential.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    up = up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate.clamp(max=limit)) * (up + 1)
