"""Clamps pairs at once, with one lower and one upper bound a branch."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    pairs = packed.unflatten(-1, (-1, 2))
    lower = packed.new_tensor([float("-inf"), -limit])
    upper = packed.new_tensor([limit, limit])
    gate, up = torch.clamp(pairs, lower, upper).unbind(-1)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
