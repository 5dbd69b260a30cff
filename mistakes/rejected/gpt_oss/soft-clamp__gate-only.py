"""Bends the gate with a softplus below the limit; the up branch has its clamp.

Why people make it: a corner in a function looks like something to be smoothed.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = limit - F.softplus(limit - gate)
    up = up.clamp(-limit, limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
