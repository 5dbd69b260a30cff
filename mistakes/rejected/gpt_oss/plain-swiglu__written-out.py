"""SwiGLU with its SiLU written out, on the packed branches.

Why people make it: hidden_act says silu in the converted configuration.
"""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    g, u = split_gate_up(packed)
    return u * (g * torch.sigmoid(g))
