"""einops for pairs, indexing for branches."""

import einops
import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    pairs = einops.rearrange(packed, "... (f branch) -> ... f branch", branch=2)
    return pairs[..., 0], pairs[..., 1]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
