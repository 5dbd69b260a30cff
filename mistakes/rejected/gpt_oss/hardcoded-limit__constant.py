"""A constant of the module is used where the argument should be.

Why people make it: LIMIT and limit differ by the shift key.
"""

import torch
from torch import Tensor

ALPHA = 1.702
LIMIT = 7.0


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = torch.clamp(gate, max=LIMIT)
    up = torch.clamp(up, -LIMIT, LIMIT)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
