"""Bridges between the exercises (M6 §5 B07, §9 B08): the same arithmetic in NumPy, in torch, in torch's own operator.

No points hang on these: they show that what you wrote twice is one thing. Each needs the exercises that it compares;
while one of them is unwritten, its bridge is skipped.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from nanolm import checks
from nanolm.protocol import Reply
from tests import inputs, oracles, tolerances
from tests.inputs import B, D, S, tensor
from tests.oracles import Array
from tests.ungraded import Call, bridge, call

__all__ = ["call"]

EPS = 1e-6
GPT_OSS = {"alpha": 1.702, "gate_limit": 7.0, "up_limit": 7.0, "shift_up": 1.0}
"""The options that make numpy_bridge's swiglu the clamped one of gpt-oss."""

SLOPE, LIMIT = 1.702, 7.0


def norm_of_torch(call: Call, x: Tensor, gamma: Tensor, upstream: Tensor | None = None) -> Reply:
    """The student's RMSNorm module."""
    return call("rmsnorm", "rms_norm", {"x": x, "gamma": gamma}, {"d_model": x.shape[-1], "eps": EPS}, upstream)


def same(y: Tensor, expected: Array, of: str, reduction: int = D, scale: float = 1.0) -> None:
    """Equal to what two orders of operations in float32 may differ by."""
    checks.close(y, expected, **tolerances.float32(reduction, scale)._asdict(), of=of)


def test_bridge_of_the_norms_in_value(call: Call, rng: np.random.Generator) -> None:
    """numpy_bridge.rms_norm, modules.RMSNorm and F.rms_norm give the same rows (B07)."""
    x, gamma = tensor(rng.standard_normal((B, S, D))), inputs.gains(rng, D)
    with bridge():
        in_numpy = call("numpy_bridge", "numpy_rms_norm", {"x": x, "gamma": gamma}, {"eps": EPS}).tensors["y"]
        in_torch = norm_of_torch(call, x, gamma).tensors["y"]
        library = checks.values(F.rms_norm(x, (D,), gamma, EPS))
        same(in_torch, checks.values(in_numpy), "RMSNorm(5)(x), beside numpy_bridge.rms_norm(x, gamma)")
        same(in_numpy, library, "numpy_bridge.rms_norm(x, gamma), beside F.rms_norm")
        same(in_torch, library, "RMSNorm(5)(x), beside F.rms_norm")


def test_bridge_of_the_norms_in_gradient(call: Call, rng: np.random.Generator) -> None:
    """RMSNorm and F.rms_norm send back the same gradients, and the slope of numpy_bridge.rms_norm is theirs (B07)."""
    x, gamma, upstream = tensor(rng.standard_normal((B, S, D))), inputs.gains(rng, D), tensor(rng.standard_normal(D))
    weights = upstream.expand(B, S, D).contiguous()
    with bridge():
        found = norm_of_torch(call, x, gamma, weights).gradients
        leaves = {"x": x.clone().requires_grad_(), "gamma": gamma.clone().requires_grad_()}
        (F.rms_norm(leaves["x"], (D,), leaves["gamma"], EPS) * weights).sum().backward()
        closed = oracles.rms_norm_gradients(*(inputs.exact(value) for value in (x, gamma)), EPS, inputs.exact(weights))
        for name, leaf in leaves.items():
            assert leaf.grad is not None
            tolerance = tolerances.float32(B * S * D, 4.0)._asdict()
            checks.gradient(found, name, checks.values(leaf.grad), **tolerance, of="RMSNorm(5)(x), beside F.rms_norm,")
            checks.gradient(found, name, closed[name], **tolerance, of="RMSNorm(5)(x)")

        def total(values: Tensor) -> float:
            wide = {"x": values, "gamma": gamma.double()}
            y = call("numpy_bridge", "numpy_rms_norm", wide, {"eps": EPS}).tensors["y"]
            return float((y.double() * weights.double()).sum())

        direction = tensor(rng.standard_normal((B, S, D)), torch.float64)
        slope = tensor(central_difference(total, x.double(), direction))
        expected = np.asarray((closed["x"] * inputs.exact(direction)).sum())
        of = "the slope of numpy_bridge.rms_norm(x, gamma) in a random direction"
        checks.close(slope, expected, rtol=1e-5, atol=1e-5, of=of)


def central_difference(total: Callable[[Tensor], float], at: Tensor, direction: Tensor, step: float = 1e-5) -> float:
    """The slope of a number along a direction, from one step to either side; the error is of the order step²."""
    return (total(at + step * direction) - total(at - step * direction)) / (2 * step)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_bridge_of_a_half_precision_row_of_1000s(call: Call, dtype: torch.dtype) -> None:
    """A row of 1000s leaves as ones in half precision: its squares fit into float32 only. NumPy has no bfloat16."""
    x, gamma = tensor(np.full((1, 1, D), 1000.0), dtype), inputs.ones(D, dtype)
    name = str(dtype).removeprefix("torch.")
    once = 2.0 ** -(tolerances.FLOAT16_BITS if dtype == torch.float16 else tolerances.BFLOAT16_BITS)
    with bridge():
        y = norm_of_torch(call, x, gamma).tensors["y"]
        checks.close(y, np.ones((1, 1, D)), rtol=once, atol=0.0, of=f"RMSNorm(5)(a {name} row of 1000s)")
        if dtype == torch.float16:
            y = call("numpy_bridge", "numpy_rms_norm", {"x": x, "gamma": gamma}, {"eps": EPS}).tensors["y"]
            checks.close(y, np.ones((1, 1, D)), rtol=once, atol=0.0, of="numpy_bridge.rms_norm(a float16 row of 1000s)")


def packed(gate: Tensor, up: Tensor) -> Tensor:
    """gate and up, interleaved as gpt-oss stores them: [..., F], [..., F] → [..., 2F]."""
    return torch.stack([gate, up], dim=-1).flatten(-2)


def in_gpt_oss(call: Call, gate: Tensor, up: Tensor, upstream: Tensor | None = None) -> Reply:
    """The student's clamped_swiglu."""
    return call("gpt_oss", "clamped_swiglu", {"packed": packed(gate, up)}, {"alpha": SLOPE, "limit": LIMIT}, upstream)


def in_numpy(call: Call, gate: Tensor, up: Tensor) -> Tensor:
    """The student's swiglu in NumPy, with the options of gpt-oss."""
    return call("numpy_bridge", "numpy_swiglu", {"gate": gate, "up": up}, GPT_OSS).tensors["y"]


def clamped(gate: Array, up: Array) -> Array:
    """The closed form of the clamped gate (M6 §9), in float64."""
    g = np.fmin(gate, LIMIT)
    return g * oracles.logistic(SLOPE * g) * (np.fmax(np.fmin(up, LIMIT), -LIMIT) + 1.0)


def clamped_gradients(gate: Array, up: Array) -> tuple[Array, Array]:
    """d clamped / d gate and d clamped / d up, away from the clamps' edges: beyond them nothing changes any more."""
    g, u = np.fmin(gate, LIMIT), np.fmax(np.fmin(up, LIMIT), -LIMIT)
    sigma = oracles.logistic(SLOPE * g)
    by_gate = (sigma + SLOPE * g * sigma * (1.0 - sigma)) * (u + 1.0) * (gate < LIMIT)
    return by_gate, g * sigma * (np.abs(up) < LIMIT)


def test_bridge_of_the_clamped_gates_in_value(call: Call, rng: np.random.Generator) -> None:
    """numpy_bridge.swiglu with gpt-oss's options and gpt_oss.clamped_swiglu give the same products (B08)."""
    gate, up = (tensor(rng.uniform(-10.0, 10.0, (3, 7))) for _ in range(2))
    expected = clamped(inputs.exact(gate), inputs.exact(up))
    with bridge():
        y = in_numpy(call, gate, up)
        same(y, expected, "numpy_bridge.swiglu with gpt-oss's options", reduction=4)
        y_packed = in_gpt_oss(call, gate, up).tensors["y"]
        same(y_packed, checks.values(y), "clamped_swiglu, beside numpy_bridge.swiglu", reduction=4)


def test_bridge_of_the_clamped_gates_in_gradient(call: Call) -> None:
    """On either side of every clamp the gradient is the closed form: beyond it exactly zero (B08)."""
    sides = np.array([-9.0, -7.5, -6.5, -1.0, 1.0, 6.5, 7.5, 9.0])
    gate, up = (tensor(values) for values in np.meshgrid(sides, sides))
    by_gate, by_up = clamped_gradients(inputs.exact(gate), inputs.exact(up))
    with bridge():
        found = in_gpt_oss(call, gate, up, torch.ones_like(gate)).gradients
        expected = np.stack([by_gate, by_up], axis=-1).reshape(*gate.shape[:-1], -1)
        of = "clamped_swiglu(gates and ups on both sides of ±7)"
        checks.gradient(found, "packed", expected, **tolerances.float32(4, 4.0)._asdict(), of=of)


def test_bridge_of_the_clamped_gates_in_slope(call: Call) -> None:
    """The slopes of numpy_bridge.swiglu on either side of every clamp are the same closed form (B08)."""
    sides = np.array([-9.0, -7.5, -6.5, -1.0, 1.0, 6.5, 7.5, 9.0])
    gate, up = (tensor(values, torch.float64) for values in np.meshgrid(sides, sides))
    step = 1e-2
    with bridge():
        moved = (gate + step, up), (gate - step, up), (gate, up + step), (gate, up - step)
        right, left, above, below = (checks.values(in_numpy(call, *branches)) for branches in moved)
        expected = clamped_gradients(inputs.exact(gate), inputs.exact(up))
        slopes = (right - left) / (2 * step), (above - below) / (2 * step)
        for name, slope, closed in zip(("gate", "up"), slopes, expected, strict=True):
            of = f"the slope of numpy_bridge.swiglu along {name}, on both sides of ±7"
            # The third derivative is below 20, and step² of it is left; rounding float32 products costs as much again.
            checks.close(tensor(slope, torch.float64), closed, rtol=1e-3, atol=2e-3, of=of)


def test_bridge_of_gates_far_out(call: Call) -> None:
    """±10000 in every branch: right values, whatever NumPy may have warned of on the way."""
    ends = np.array([-1e4, -1000.0, -9.0, 0.0, 9.0, 1000.0, 1e4])
    gate, up = (tensor(values) for values in np.meshgrid(ends, ends))
    expected = clamped(inputs.exact(gate), inputs.exact(up))
    with bridge():
        y = call("numpy_bridge", "numpy_swiglu", {"gate": gate, "up": up}).tensors["y"]
        plain = inputs.exact(gate) * oracles.logistic(inputs.exact(gate)) * inputs.exact(up)
        same(y, plain, "numpy_bridge.swiglu(gates and ups up to ±1e4), nothing clamped", reduction=4)
        same(in_numpy(call, gate, up), expected, "numpy_bridge.swiglu(gates and ups up to ±1e4)", reduction=4)
        y = in_gpt_oss(call, gate, up).tensors["y"]
        same(y, expected, "clamped_swiglu(gates and ups up to ±1e4)", reduction=4)
