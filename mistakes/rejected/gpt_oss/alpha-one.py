"""Gates with SiLU: alpha is not used.

Why people make it: SwiGLU's gate is SiLU, and F.silu has no slope.
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
    return F.silu(gate) * (up + 1)
