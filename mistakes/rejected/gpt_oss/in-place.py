"""clamp_ writes into views of packed, and so into the caller's tensor.

Why people make it: the underscore saves memory, and a slice looks like a tensor of its own.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate.clamp_(max=limit)
    up.clamp_(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
