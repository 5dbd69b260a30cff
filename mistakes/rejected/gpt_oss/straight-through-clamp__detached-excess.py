"""Subtracts what is beyond the limit as a constant.

Why people make it: a straight-through estimator keeps gradients alive, and they are thought to be wanted here.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate - (gate - limit).clamp(min=0).detach()
    up = up + (up.clamp(-limit, limit) - up).detach()
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
