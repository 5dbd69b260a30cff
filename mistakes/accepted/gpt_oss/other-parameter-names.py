"""Other names for the arguments, which are passed by position, and one more option."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(x: Tensor, slope: float = 1.702, swiglu_limit: float = 7.0, bias: float = 1.0) -> Tensor:
    glu, linear = split_gate_up(x)
    glu = glu.clamp(max=swiglu_limit)
    linear = linear.clamp(-swiglu_limit, swiglu_limit)
    return glu * torch.sigmoid(slope * glu) * (linear + bias)
