"""Reshape to pairs, transpose, index."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    features = packed.shape[-1] // 2
    branches = packed.reshape(*packed.shape[:-1], features, 2).transpose(-1, -2)
    return branches[..., 0, :], branches[..., 1, :]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
