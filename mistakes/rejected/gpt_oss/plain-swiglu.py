"""The plain SwiGLU: no clamp, no alpha, no shift.

Why people make it: the exercise before this one was SwiGLU, and the split is the only news that was read.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    return F.silu(gate) * up
