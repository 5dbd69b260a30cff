"""The gate's clamp has a lower bound of minus infinity."""

import math

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clip(-math.inf, limit)
    up = up.clip(-limit, limit)
    return gate.mul(gate.mul(alpha).sigmoid()).mul(up.add(1))
