"""Reshapes to [..., 2, F], which reads halves, where the pairs are [..., F, 2].

Why people make it: reshape takes any order of sizes with the right product, and the error is only in the order.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    both = packed.reshape(*packed.shape[:-1], 2, packed.shape[-1] // 2)
    return both[..., 0, :], both[..., 1, :]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (1 + up)
