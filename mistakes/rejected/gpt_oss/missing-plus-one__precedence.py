"""The one is added to the product and taken off again: the missing brackets are mended at the wrong end.

Why people make it: gate * up + 1 is not gate * (up + 1), and the constant is then taken off again.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    glu = gate * torch.sigmoid(alpha * gate)
    return (glu * up + 1) - 1
