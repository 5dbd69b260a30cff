"""Shapes in the annotations."""

import torch
from jaxtyping import Float
from torch import Tensor


def split_gate_up(packed: Float[Tensor, "... two_F"]) -> tuple[Float[Tensor, "... F"], Float[Tensor, "... F"]]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(
    packed: Float[Tensor, "... two_F"], alpha: float = 1.702, limit: float = 7.0
) -> Float[Tensor, "... F"]:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
