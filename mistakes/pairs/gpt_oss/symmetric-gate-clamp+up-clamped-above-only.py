"""The two clamps are exchanged: the gate's has two sides and up's has one.

Why people make it: one sided and two sided are remembered, which is whose is not.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(min=-limit, max=limit)
    up = up.clamp(max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
