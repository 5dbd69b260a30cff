"""Widens unconditionally and casts back at the end."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    wide = packed.to(torch.float32)
    gate, up = split_gate_up(wide)
    gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    y = gate * torch.sigmoid(alpha * gate) * (up + 1)
    return y.to(packed.dtype)
