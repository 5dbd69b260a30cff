"""The first F features are the gate and the last F are up.

Why people make it: a fused matrix is usually two matrices stacked on each other, and half the width is a natural cut.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    half = packed.shape[-1] // 2
    return packed[..., :half], packed[..., half:]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = torch.clamp(gate, max=limit)
    up = torch.clamp(up, -limit, limit)
    glu = gate * torch.sigmoid(gate * alpha)
    return (up + 1.0) * glu
