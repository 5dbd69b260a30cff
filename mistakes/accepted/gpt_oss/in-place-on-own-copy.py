"""Clamps in place on copies of its own."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = (branch.clone() for branch in split_gate_up(packed))
    gate.clamp_(max=limit)
    up.clamp_(min=-limit, max=limit).add_(1)
    return gate.mul(torch.sigmoid(gate * alpha)).mul(up)
