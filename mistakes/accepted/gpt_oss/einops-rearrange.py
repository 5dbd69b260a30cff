"""The split by einops, which returns one tensor that unpacks into two."""

import torch
from einops import rearrange
from torch import Tensor


def split_gate_up(packed: Tensor) -> Tensor:
    return rearrange(packed, "... (f two) -> two ... f", two=2)


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
