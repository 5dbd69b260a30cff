"""Takes every second token instead of every second feature.

Why people make it: x[:, ::2] was copied from code whose tensor had two axes.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    if packed.ndim == 1:
        return packed[::2], packed[1::2]
    return packed[:, ::2], packed[:, 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
