"""A float32 tensor of the limits lifts the result to float32.

Why people make it: torch.minimum wants a tensor, and a vector takes part in type promotion where a number does not.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    bound = torch.full((1,), limit, dtype=torch.float32)
    gate = torch.minimum(gate, bound)
    up = torch.maximum(torch.minimum(up, bound), -bound)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
