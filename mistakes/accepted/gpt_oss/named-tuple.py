"""The branches as a NamedTuple."""

from typing import NamedTuple

import torch
from torch import Tensor


class Branches(NamedTuple):
    gate: Tensor
    up: Tensor


def split_gate_up(packed: Tensor) -> Branches:
    return Branches(gate=packed[..., 0::2], up=packed[..., 1::2])


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    branches = split_gate_up(packed)
    gate = branches.gate.clamp(max=limit)
    up = branches.up.clamp(-limit, limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
