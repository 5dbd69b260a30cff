"""The split returns (up, gate), and only the activation knows it.

Why people make it: value first, gate second is how F.glu orders its halves.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., 1::2], packed[..., ::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    up, gate = split_gate_up(packed)
    gate = torch.clamp(gate, max=limit)
    up = torch.clamp(up, min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
