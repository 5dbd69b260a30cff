"""Clamps by torch.where."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = torch.where(gate > limit, limit, gate)
    up = torch.where(up > limit, limit, torch.where(up < -limit, -limit, up))
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
