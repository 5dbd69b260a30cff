"""Both functions widen and cast back."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    wide = packed.float()
    return wide[..., ::2].to(packed.dtype), wide[..., 1::2].to(packed.dtype)


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = (branch.float() for branch in split_gate_up(packed))
    gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    return (gate * torch.sigmoid(alpha * gate) * (up + 1)).type_as(packed)
