"""Cuts halves and gates with SiLU.

Why people make it: the fused SwiGLU of another model was extended by clamps and shift.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    gate, up = packed.chunk(2, dim=-1)
    return gate, up


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    return F.silu(gate.clamp(max=limit)) * (up.clamp(-limit, limit) + 1)
