"""Index tensors and bounds that are made where the projection lies."""

import torch


def split_gate_up(packed):
    even = torch.arange(0, packed.shape[-1], 2, device=packed.device)
    return packed.index_select(-1, even), packed.index_select(-1, even + 1)


def clamped_swiglu(packed, alpha=1.702, limit=7.0):
    gate, up = split_gate_up(packed)
    bound = torch.full((), limit, dtype=packed.dtype, device=packed.device)
    gate = torch.minimum(gate, bound)
    up = torch.maximum(torch.minimum(up, bound), -bound)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)
