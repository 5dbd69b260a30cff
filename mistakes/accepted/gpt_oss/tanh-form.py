"""The sigmoid through tanh."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    return gate * 0.5 * (1 + torch.tanh(0.5 * alpha * gate)) * (up + 1)
