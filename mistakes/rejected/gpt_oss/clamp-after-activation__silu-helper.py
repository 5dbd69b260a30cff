"""A helper activates the gate, and the clamp acts on what it returns.

Why people make it: activate, clamp, multiply reads like the order of the words clamped SwiGLU.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def _swish(z: Tensor, slope: float) -> Tensor:
    return z * torch.sigmoid(slope * z)


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = torch.minimum(_swish(gate, alpha), torch.full_like(gate, limit))
    up = up.clamp(min=-limit, max=limit)
    return gate * (up + 1)
