"""Clamps the up branch and goes on with the unclamped one.

Why people make it: the clamped tensor never gets a name.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = torch.clamp(gate, max=limit)
    torch.clamp(up, min=-limit, max=limit)
    return (up + 1) * (gate * torch.sigmoid(gate * alpha))
