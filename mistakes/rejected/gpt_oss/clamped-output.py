"""Clamps the product to -limit … limit instead of the branches.

Why people make it: the limit is taken for a bound on what leaves the activation.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    product = gate * torch.sigmoid(alpha * gate) * (up + 1)
    return product.clamp(-limit, limit)
