"""The sigmoid goes through NumPy and comes back as a constant.

Why people make it: the stable sigmoid of the NumPy exercise was at hand.
"""

import numpy as np
import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    weight = 1 / (1 + np.exp(-alpha * gate.detach().double().numpy()))
    return gate * torch.from_numpy(weight).to(gate.dtype) * (up + 1)
