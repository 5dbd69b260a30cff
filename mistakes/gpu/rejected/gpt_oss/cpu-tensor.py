"""Clamps with bounds that are tensors on the CPU.

Why people make it: `torch.minimum` wants a tensor as its second argument.
"""

import torch


def split_gate_up(packed):
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed, alpha=1.702, limit=7.0):
    gate, up = split_gate_up(packed)
    bound = torch.full(gate.shape[-1:], limit, dtype=packed.dtype)
    gate = torch.minimum(gate, bound)
    up = torch.maximum(torch.minimum(up, bound), -bound)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
