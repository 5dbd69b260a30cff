"""view to tokens and pairs, which a transposed tensor does not have.

Why people make it: view works on everything that was tried.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    pairs = packed.view(-1, packed.shape[-1] // 2, 2)
    shape = (*packed.shape[:-1], packed.shape[-1] // 2)
    return pairs[:, :, 0].reshape(shape), pairs[:, :, 1].reshape(shape)


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
