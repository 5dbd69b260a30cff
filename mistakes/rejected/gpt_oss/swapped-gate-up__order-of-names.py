"""The split is right, but its two results are taken in the wrong order.

Why people make it: `up, gate = …` reads as well as `gate, up = …`, and both names are tensors of one shape.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    up, gate = split_gate_up(packed)
    gate = torch.clamp(gate, max=limit)
    up = torch.clamp(up, min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
