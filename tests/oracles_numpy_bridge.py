"""Independent references of `numpy_bridge.py`: torch's own operators in float64, which no answer may name.

Arguments are the tensors that the student gets as arrays, so that nothing is rounded on the way.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.oracles import Array


def rms_rows(*, rows: Tensor, gain: Tensor | None = None, eps: float = 1e-6) -> Array:
    """Root-mean-square normalisation of each row (M6 §5): [..., D] → [..., D]."""
    y = F.rms_norm(rows.double(), rows.shape[-1:], None if gain is None else gain.double(), eps)
    return y.numpy()


def layer_rows(*, rows: Tensor, gain: Tensor | None = None, shift: Tensor | None = None, eps: float = 1e-6) -> Array:
    """Layer normalisation of each row (M6 §5): [..., D] → [..., D]."""
    weights = (None if values is None else values.double() for values in (gain, shift))
    return F.layer_norm(rows.double(), rows.shape[-1:], *weights, eps=eps).numpy()


CURVES = {
    "stable_sigmoid": torch.sigmoid,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_sigmoid": lambda at: at * torch.sigmoid(1.702 * at),
}


def curve(*, name: str, at: Tensor) -> Array:
    """One activation (M6 §8) at the given points."""
    return CURVES[name](at.double()).numpy()


def gated(
    *,
    gate: Tensor,
    linear: Tensor,
    slope: float = 1.0,
    gate_top: float | None = None,
    linear_bound: float | None = None,
    offset: float = 0.0,
) -> Array:
    """The gated product (M6 §9), clamped where a bound is given: [...] → [...]."""
    g = gate.double() if gate_top is None else gate.double().clamp_max(gate_top)
    u = linear.double() if linear_bound is None else linear.double().clamp(-linear_bound, linear_bound)
    return (g / (1 + torch.exp(-slope * g)) * (u + offset)).numpy()


def gated_mlp(*, tokens: Tensor, into_gate: Tensor, into_linear: Tensor, back: Tensor) -> Array:
    """The feed-forward network around it (M6 §13): [..., D] → [..., D]."""
    x, *maps = (value.double() for value in (tokens, into_gate, into_linear, back))
    gate, linear, down = (matrix.T for matrix in maps)
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, linear), down).numpy()
