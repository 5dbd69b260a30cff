"""A custom autograd function with its own backward."""

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed[..., ::2], packed[..., 1::2]


class _Activation(torch.autograd.Function):
    @staticmethod
    def forward(ctx, packed, alpha, limit):
        ctx.save_for_backward(packed)
        ctx.alpha, ctx.limit = alpha, limit
        gate, up = split_gate_up(packed)
        gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
        return gate * torch.sigmoid(alpha * gate) * (up + 1)

    @staticmethod
    def backward(ctx, grad):
        (packed,) = ctx.saved_tensors
        raw_gate, raw_up = split_gate_up(packed)
        gate, up = raw_gate.clamp(max=ctx.limit), raw_up.clamp(-ctx.limit, ctx.limit)
        s = torch.sigmoid(ctx.alpha * gate)
        d_gate = grad * (up + 1) * s * (1 + ctx.alpha * gate * (1 - s)) * (raw_gate <= ctx.limit)
        d_up = grad * gate * s * (raw_up.abs() <= ctx.limit)
        return torch.stack([d_gate, d_up], dim=-1).flatten(-2), None, None


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    return _Activation.apply(packed, alpha, limit)
