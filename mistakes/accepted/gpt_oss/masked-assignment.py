"""Clamps by masked assignment on clones."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = (branch.clone() for branch in split_gate_up(packed))
    gate[gate > limit] = limit
    up[up > limit] = limit
    up[up < -limit] = -limit
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
