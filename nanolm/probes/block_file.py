"""Probes of `block.py`.

Silent sublayers leave the norms and the residual path of a step to be seen, one silent sublayer leaves the other. How
often each callable was asked is read apart from what came out, and so are dtypes, ranks and arguments afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nanolm.probes.probe import Array, Probe, gradients, output, random, tensor
from nanolm.protocol import Call, Reply

STEPS = {
    "pre": ("pre_norm_step", ("norm1", "norm2")),
    "post": ("post_norm_step", ("norm1", "norm2")),
    "peri": ("peri_norm_step", ("in1", "out1", "in2", "out2")),
    "output": ("output_norm_step", ("out1", "out2")),
}
_X = random(61, 2, 3, 5)
_ONE_SEQUENCE = _X[0]
_H0 = random(62, 7)
_WEIGHTS = random(63, 5, 7, 7) / 7**0.5
_TURN = np.roll(np.eye(7), 1, axis=0)[None] * np.array([2.0, -0.5, 1.0])[:, None, None]


def _step(
    placement: str,
    *,
    silent: tuple[str, ...] = (),
    x: Array = _X,
    dtype: torch.dtype = torch.float32,
    upstream: bool = False,
    leave: bool = False,
) -> Callable[[], Call]:
    """A step whose callables are not linear; a silent one returns zero for every input."""
    entry, norms = STEPS[placement]

    def call() -> Call:
        tensors: dict[str, Tensor] = {"x": tensor(x, dtype)}
        for seed, name in enumerate(("attn", "ffn", *norms), 70):
            size = 0.0 if name in silent else 1.0
            tensors[f"{name}_A"] = tensor(size * random(seed, 5, 5) / 5**0.5, dtype)
            tensors[f"{name}_b"] = tensor(size * (0.3 + 0.1 * random(seed + 20, 5)), dtype)
        weights = {"y": tensor(random(64, *x.shape))} if upstream else {}
        return Call(entry, tensors, {}, weights, return_arguments=leave)

    return call


def _scale(
    placement: str,
    h0: Array = _H0,
    weights: Array = _WEIGHTS,
    *,
    dtype: torch.dtype = torch.float64,
    entry: str = "forward_scale",
    leave: bool = False,
) -> Callable[[], Call]:
    def call() -> Call:
        tensors = {"h0": tensor(h0, dtype), "weights": tensor(weights, dtype)}
        return Call(entry, tensors, {"placement": placement}, return_arguments=leave)

    return call


def _uses(reply: Reply) -> dict[str, Any]:
    uses: Any = reply.facts["callables"]
    return dict(uses)


def _counts(reply: Reply) -> tuple[str, Array]:
    """How often each callable was called, in the order of the signature."""
    return "calls", np.array([float(use["calls"]) for use in _uses(reply).values()])


def _dtypes(reply: Reply) -> tuple[str, Array]:
    """The dtype of the output, and those of what the callables were handed."""
    handed = {dtype for use in _uses(reply).values() for dtype in use["dtypes"]}
    return f"{_dtype_name(reply)} from {sorted(handed)}", np.zeros(0)


def _dtype_name(reply: Reply) -> str:
    return str(reply.tensors["y"].dtype).removeprefix("torch.")


def _dtype(reply: Reply) -> tuple[str, Array]:
    """The dtype of the output alone."""
    return _dtype_name(reply), np.zeros(0)


def _rank(reply: Reply) -> tuple[str, Array]:
    """The number of axes alone."""
    return f"{reply.tensors['y'].ndim} axes", np.zeros(0)


def _values(reply: Reply) -> tuple[str, Array]:
    """The numbers, whatever their dtype."""
    kind, numbers = output(reply)
    return kind.partition("[")[2], numbers


def _float32_alone(reply: Reply) -> tuple[str, Array]:
    """1 where every number of a float64 result fits into float32: it was computed there."""
    numbers = _values(reply)[1]
    return "fits", np.array([float(np.array_equal(numbers, numbers.astype(np.float32)))])


def _changed(made: Callable[[], Call]) -> Callable[[Reply], tuple[str, Array]]:
    """Whether the call changed an argument: 1 for each that it did."""

    def read(reply: Reply) -> tuple[str, Array]:
        given = made().tensors
        changed = [float(not torch.equal(value, given[name])) for name, value in sorted(reply.arguments.items())]
        return "changed", np.array(changed)

    return read


def _of_a_step(placement: str) -> Iterator[Probe]:
    leaving = _step(placement, leave=True)
    yield Probe(placement, _step(placement))
    yield Probe(f"{placement}, silent", _step(placement, silent=("attn", "ffn")))
    yield Probe(f"{placement}, attn alone", _step(placement, silent=("ffn",)))
    yield Probe(f"{placement}, ffn alone", _step(placement, silent=("attn",)))
    yield Probe(f"{placement}, calls", _step(placement), _counts)
    yield Probe(f"{placement}, gradients", _step(placement, upstream=True), gradients, rtol=1e-3, atol=1e-4)
    yield Probe(f"{placement}, dtypes", _step(placement, dtype=torch.bfloat16), _dtypes)
    yield Probe(f"{placement}, one sequence", _step(placement, x=_ONE_SEQUENCE), _rank)
    yield Probe(f"{placement}, afterwards", leaving, _changed(leaving))


_LEAVING_SCALE = _scale("none", leave=True)

PLACEMENT = (
    *(probe for placement in STEPS for probe in _of_a_step(placement)),
    *(Probe(f"scale, {placement}", _scale(placement), _values) for placement in ("none", "pre", "post")),
    Probe("scale, precision", _scale("none"), _float32_alone),
    Probe("scale, dtype", _scale("none", dtype=torch.bfloat16), _dtype),
    Probe("scale, tiny, pre", _scale("pre", 4e-13 * _H0, _TURN), _values),
    Probe("scale, tiny, post", _scale("post", 4e-13 * _H0, _TURN), _values),
    Probe("scale, zero", _scale("post", 0 * _H0), _values),
    Probe("scale, refusal", _scale("peri", entry="forward_scale_refusal"), _values),
    Probe("scale, afterwards", _LEAVING_SCALE, _changed(_LEAVING_SCALE)),
)
