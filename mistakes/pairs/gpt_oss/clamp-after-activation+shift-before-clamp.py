"""Activates, shifts, and clamps both at the end.

Why people make it: clamps look like the last step of a function.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    glu = gate * torch.sigmoid(alpha * gate)
    return glu.clamp(max=limit) * (up + 1).clamp(-limit, limit)
