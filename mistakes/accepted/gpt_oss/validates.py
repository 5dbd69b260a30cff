"""Refuses what cannot be right: an odd width, a limit that is not positive."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    if packed.shape[-1] % 2:
        raise ValueError("packed must hold pairs")
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    if limit <= 0:
        raise ValueError(f"limit must be positive, not {limit}")
    gate, up = split_gate_up(packed)
    gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
