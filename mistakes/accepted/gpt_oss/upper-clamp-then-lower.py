"""The packed tensor is clamped above, up also below: two clamps, other order."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed.clamp(max=limit))
    return gate * torch.sigmoid(alpha * gate) * (up.clamp(min=-limit) + 1)
