"""Alpha multiplies the SiLU instead of standing inside the sigmoid.

Why people make it: a coefficient of an activation is put in front of it.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return alpha * gate * torch.sigmoid(gate) * (up + 1)
