"""The one stands inside the clamp's brackets.

Why people make it: one pair of brackets too many, or one in the wrong place.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    glu = gate.clamp(max=limit)
    glu = glu * torch.sigmoid(alpha * glu)
    return glu * torch.clamp(up + 1.0, -limit, limit)
