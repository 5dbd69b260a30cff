"""Bends both branches with tanh instead of clamping them.

Why people make it: the soft cap of the attention scores is still in mind, and it keeps gradients everywhere.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = limit * torch.tanh(gate / limit)
    up = limit * torch.tanh(up / limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
