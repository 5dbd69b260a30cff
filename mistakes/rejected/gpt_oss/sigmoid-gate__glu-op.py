"""F.glu on the two branches gives the sigmoid alone.

Why people make it: GLU is in the name, and torch has it.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return F.glu(torch.cat([up + 1, alpha * gate], dim=-1), dim=-1)
