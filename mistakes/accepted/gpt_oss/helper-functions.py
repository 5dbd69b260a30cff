"""Small helpers for each step."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def _gate_factor(gate: Tensor, alpha: float, limit: float) -> Tensor:
    gate = torch.clamp(gate, max=limit)
    return gate * torch.sigmoid(alpha * gate)


def _value_factor(up: Tensor, limit: float) -> Tensor:
    return up.clamp(-limit, limit) + 1


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    return _gate_factor(gate, alpha, limit) * _value_factor(up, limit)
