"""Warns once a call that wide projections are slow.

Why people make it: a hint to whoever uses the function with large layers; the tests
use small ones.
"""

import warnings

import torch


def split_gate_up(packed):
    return packed[..., ::2], packed[..., 1::2]


def clamped_swiglu(packed, alpha=1.702, limit=7.0):
    if packed.shape[-1] > 256:
        warnings.warn("wide projection")
    gate, up = split_gate_up(packed)
    gate = gate.clamp(max=limit)
    up = up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
