"""Works on a matrix of tokens and restores the axes."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    *axes, width = packed.shape
    tokens = packed.reshape(-1, width)
    gate, up = split_gate_up(tokens)
    gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    y = gate * torch.sigmoid(alpha * gate) * (up + 1)
    return y.reshape(*axes, width // 2)
