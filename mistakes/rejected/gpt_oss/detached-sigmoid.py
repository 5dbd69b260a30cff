"""The sigmoid is computed without gradients.

Why people make it: a gate is thought of as a switch, and switches under no_grad as cheaper.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    with torch.no_grad():
        weight = torch.sigmoid(alpha * gate)
    return gate * weight * (up + 1)
