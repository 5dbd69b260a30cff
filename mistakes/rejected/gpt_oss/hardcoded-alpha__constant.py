"""A constant of the module is used where the argument should be.

Why people make it: ALPHA and alpha differ by the shift key.
"""

import torch
from torch import Tensor

ALPHA, LIMIT = 1.702, 7.0


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=LIMIT if limit is None else limit)
    up = up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(gate * ALPHA) * (up + 1)
