"""Probes of `gpt_oss.py`.

One pair a token (F = 1) hides how the projection is packed. Where only the direction of the outputs is read, a constant
factor is hidden: of gates at one up value the shift, of up values at one gate all that is wrong with the gate. Where
only the pattern of what vanishes is read, the curve and the shift are hidden both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from nanolm.probes.probe import Array, Probe, random, tensor
from nanolm.protocol import Call, Reply

ALPHA, LIMIT = 1.702, 7.0


def _pairs(gate: object, up: object) -> Array:
    """N pairs, one a token: [1, N, 2]."""
    z, u = np.broadcast_arrays(np.asarray(gate, dtype=np.float64), np.asarray(up, dtype=np.float64))
    return np.stack([z, u], axis=-1)[None]


def _call(
    entry: str,
    packed: Array,
    *settings: float,
    dtype: torch.dtype = torch.float32,
    upstream: bool = False,
    after: bool = False,
    turned: bool = False,
) -> Callable[[], Call]:
    """A call; `settings` are alpha and limit, `turned` swaps the first two axes in memory."""

    def call() -> Call:
        x = tensor(packed, dtype)
        if turned:
            x = x.transpose(0, 1).contiguous().transpose(0, 1)
        scalars = dict(zip(("alpha", "limit"), settings, strict=False))
        weights: dict[str, Tensor] = {}
        if upstream:
            width = packed.shape[-1] // 2
            weights = {"y": tensor(1.5 + 0.3 * np.sin(np.arange(packed.size // 2)).reshape(*packed.shape[:-1], width))}
        return Call(entry, {"packed": x}, scalars, weights, after)

    return call


def _activation(gate: object, up: object, *settings: float) -> Callable[[], Call]:
    return _call("clamped_swiglu", _pairs(gate, up), *settings)


def _branches(reply: Reply) -> tuple[str, Array]:
    """Both branches of the split, with their dtypes and shapes."""
    gate, up = reply.tensors["gate"], reply.tensors["up"]
    kinds = [f"{str(part.dtype).removeprefix('torch.')}{list(part.shape)}" for part in (gate, up)]
    return " and ".join(kinds), np.concatenate([part.double().numpy().reshape(-1) for part in (gate, up)])


def _direction(reply: Reply) -> tuple[str, Array]:
    """The outputs up to a constant factor, its sign included."""
    y = reply.tensors["y"]
    held = y.double().numpy().reshape(-1)
    largest = held[np.argmax(np.abs(held))] if held.size else 1.0
    return f"{list(y.shape)}", held / (largest or 1.0)


def _pattern(reply: Reply) -> tuple[str, Array]:
    """Which outputs are more than nothing beside the largest: 1 for each that is."""
    y = reply.tensors["y"]
    sizes = np.abs(y.double().numpy().reshape(-1))
    return f"{list(y.shape)}", (sizes > 0.01 * sizes.max(initial=0.0)).astype(np.float64)


def _difference(reply: Reply) -> tuple[str, Array]:
    """The second output less the first: at one gate it is the gate's factor times what up grew, shifted or not."""
    y = reply.tensors["y"]
    return f"{list(y.shape)}", np.diff(y.double().numpy().reshape(-1))


def _shape(reply: Reply) -> tuple[str, Array]:
    """The shape of the output alone."""
    return f"{list(reply.tensors['y'].shape)}", np.zeros(0)


def _dtype(reply: Reply) -> tuple[str, Array]:
    """The dtype of the output alone."""
    return str(reply.tensors["y"].dtype).removeprefix("torch."), np.zeros(0)


def _gradient_directions(reply: Reply) -> tuple[str, Array]:
    """The gradients of the gates and those of the up values, each up to a constant factor."""
    if "packed" not in reply.gradients:
        return "unreached", np.zeros(0)
    parts = reply.gradients["packed"].double().numpy().reshape(-1, 2).T
    return "gradients", np.concatenate([part / max(float(np.abs(part).max()), 1e-12) for part in parts])


def _gradient_pattern(reply: Reply) -> tuple[str, Array]:
    """Where a gradient is more than nothing: 1 for each such value of `packed`."""
    if "packed" not in reply.gradients:
        return "unreached", np.zeros(0)
    return "gradients", (np.abs(reply.gradients["packed"].double().numpy().reshape(-1)) > 1e-4).astype(np.float64)


def _changed(reply: Reply) -> tuple[str, Array]:
    """Whether the call changed its argument: 1 where it did."""
    return "changed", np.array([float(not torch.equal(reply.arguments["packed"], tensor(_BEYOND)))])


_CURVE = np.array([-3.0, -1.5, -0.5, 0.5, 1.5, 3.0])
_RANDOM = 0.8 * random(71, 2, 3, 10)
_BEYOND = _pairs([-4.0, 4.0, 0.5, 0.5, 0.5], [0.25, 0.25, 4.0, -4.0, 0.25])
_FAR = np.array([8.0, 12.0, 30.0])
_NEAR_AND_FAR = np.array([6.9, 12.0, 30.0])
_UPS = np.array([-0.75, -0.25, 0.0, 0.25, 0.75])
_SHUT, _OPEN = -60.0, 3.0
_PACKED = np.array([[[_SHUT, _OPEN, _SHUT, _OPEN, _OPEN, _OPEN]]])

GPT_OSS = (
    Probe("split", _call("split_gate_up", _RANDOM), _branches),
    Probe("split of one token", _call("split_gate_up", _RANDOM[0, 0]), _branches),
    Probe("split, turned", _call("split_gate_up", _RANDOM, turned=True), _branches),
    Probe("packing", _call("clamped_swiglu", _PACKED, ALPHA, LIMIT), _pattern),
    Probe("one token", _call("clamped_swiglu", _RANDOM[0, 0], ALPHA, LIMIT), _shape),
    Probe("tokens without a batch", _call("clamped_swiglu", _RANDOM[0], ALPHA, LIMIT), _shape),
    Probe("turned", _call("clamped_swiglu", _RANDOM, ALPHA, LIMIT, turned=True), _shape),
    Probe("which branch is the gate", _activation([_SHUT, _OPEN], [_OPEN, _SHUT], ALPHA, LIMIT), _pattern),
    Probe("gate curve", _activation(_CURVE, 1.0, ALPHA, LIMIT), _direction),
    Probe("gate curve, alpha 0.5", _activation(_CURVE, 1.0, 0.5, LIMIT), _direction),
    Probe("size of the gate's factor", _activation(6.0, [-2.0, 3.0], 3.0, LIMIT), _difference, rtol=1e-2),
    Probe("up line", _activation(1.5, _UPS, ALPHA, LIMIT), _direction),
    Probe("gate above 0.1", _activation([0.05, 40.0], 0.05, ALPHA, 0.1), _direction, rtol=0.1),
    Probe("gates above 1", _activation([0.5, 2.0, 4.0], 0.5, ALPHA, 1.0), _direction),
    Probe("gates below -1", _activation([-1.3, -9.0, -20.0], 0.5, ALPHA, 1.0), _pattern),
    Probe("up values above 1", _activation(0.5, [1.3, 2.0, 6.0], ALPHA, 1.0), _direction),
    Probe("up values across 1", _activation(0.5, [0.25, 3.0], ALPHA, 1.0), _direction),
    Probe("up values below -2", _activation(0.5, [-3.2, -4.0, -6.0], ALPHA, 2.0), _direction),
    Probe("gates above 7", _activation(_FAR, 0.5, ALPHA, LIMIT), _direction, rtol=1e-2),
    Probe("up values above 7", _activation(0.5, _FAR, ALPHA, LIMIT), _direction),
    Probe("up values below -7", _activation(0.5, -_FAR, ALPHA, LIMIT), _direction),
    Probe("default alpha", _activation(_CURVE, 1.0), _direction),
    Probe("default limit of the gate", _activation(_NEAR_AND_FAR, 0.5), _direction, rtol=1e-2),
    Probe("default limit of up", _activation(0.5, _NEAR_AND_FAR), _direction),
    Probe("default limit with alpha", _activation(_NEAR_AND_FAR, 0.5, 1.3), _direction, rtol=1e-2),
    Probe(
        "gradient inside",
        _call("clamped_swiglu", _pairs([0.6, -0.6, 1.5], 0.5), ALPHA, LIMIT, upstream=True),
        _gradient_directions,
    ),
    Probe("gradient beyond", _call("clamped_swiglu", _BEYOND, ALPHA, 1.0, upstream=True), _gradient_pattern),
    Probe("dtype", _call("clamped_swiglu", _pairs(_CURVE, 0.5), ALPHA, LIMIT, dtype=torch.bfloat16), _dtype),
    Probe("argument", _call("clamped_swiglu", _BEYOND, ALPHA, 1.0, after=True), _changed),
)
