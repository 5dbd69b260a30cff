"""A list of two branches, contiguous."""

import torch
from torch import Tensor


def split_gate_up(packed):
    return [packed[..., i::2].contiguous() for i in range(2)]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
