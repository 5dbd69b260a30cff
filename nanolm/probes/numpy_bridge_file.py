"""Probes of `numpy_bridge.py`.

A row of ±1 has mean 0, mean square 1 and variance 1, whatever else is done to it: such rows show one thing alone. Most
probes of the norms have three axes, since code for that rank alone is common. How a function refuses is a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch

from nanolm.probes.probe import Array, Probe, random, tensor
from nanolm.probes.qk_norm_file import arguments
from nanolm.protocol import Call, Reply, Scalar

SIGNS = np.array([1.0, -1.0, 1.0, -1.0])
SIZES = np.array([1.0, 2.0, 7.0])
GAIN = np.array([0.5, 1.3, 1.9, 0.8])
SHIFT = np.array([2.0, -3.0, 0.7, 1.1])
CURVE = np.array([-8.0, -3.0, -1.0, -0.25, 0.25, 1.0, 3.0, 8.0])
DOUBLE = torch.float64
FAR = np.array([-1e4, -800.0, -100.0, -30.0, 30.0, 100.0, 800.0, 1e4])

Reader = Callable[[Reply], tuple[str, Array]]


def output(reply: Reply) -> tuple[str, Array]:
    """The output: its shape and its values; another dtype than the input's is a probe of its own."""
    y = reply.tensors["y"]
    return f"{list(y.shape)}", y.double().numpy().reshape(-1)


def dtype(reply: Reply) -> tuple[str, Array]:
    """The dtype alone."""
    return str(reply.tensors["y"].dtype).removeprefix("torch."), np.zeros(0)


def digits(*known: float) -> Reader:
    """How many digits agree with numbers that are known: 12 or more, those of float32, or fewer."""

    def read(reply: Reply) -> tuple[str, Array]:
        y = reply.tensors["y"].double().numpy().reshape(-1)
        error = float(np.abs(y - np.array(known)).max()) if y.shape == (len(known),) else 1.0
        return "digits", np.array([12.0 if error < 1e-12 else 6.0 if error < 1e-5 else 2.0])

    return read


def _call(
    entry: str,
    values: dict[str, object],
    scalars: Mapping[str, Scalar] | None = None,
    *,
    of: torch.dtype = torch.float32,
    after: bool = False,
) -> Callable[[], Call]:
    def call() -> Call:
        tensors = {name: tensor(value, of) for name, value in values.items() if value is not None}
        given = {name: value for name, value in (scalars or {}).items() if value is not None}
        return Call(f"numpy_{entry}", tensors, given, {}, after)

    return call


def _norm(
    label: str,
    rows: object,
    *,
    layer: bool,
    gamma: object = None,
    beta: object = None,
    eps: float | None = 1e-6,
    of: torch.dtype = torch.float32,
    after: bool = False,
    read: Reader = output,
    rtol: float = 1e-4,
) -> Probe:
    name = "layer_norm" if layer else "rms_norm"
    values: dict[str, object] = {"x": rows, "gamma": gamma, "beta": beta}
    return Probe(f"{name}: {label}", _call(name, values, {"eps": eps}, of=of, after=after), read, rtol=rtol)


def _refused(function: str, label: str, values: dict[str, object], **scalars: Scalar) -> Probe:
    return Probe(f"{function}: refuses {label}", _call("refusal", values, {"function": function, **scalars}))


def _both_norms(*, layer: bool) -> tuple[Probe, ...]:
    """What the two norms have in common."""
    one, name = SIGNS.reshape(1, 1, 4), "layer_norm" if layer else "rms_norm"
    nan = float("nan")
    return (
        _norm("row", [[[2.0, -1.0, 3.0, 0.0]]], layer=layer),
        _norm("constant row", [[[4.0, 4.0, 4.0, 4.0]]], layer=layer, eps=1e-3),
        _norm("size", 5 * one, layer=layer),
        _norm("sizes of tokens", SIZES.reshape(1, 3, 1) * SIGNS, layer=layer),
        _norm("sizes in the batch", SIZES.reshape(3, 1, 1) * SIGNS, layer=layer),
        _norm("gain", one, layer=layer, gamma=GAIN),
        _norm("eps", 0.004 * one, layer=layer, eps=0.01),
        _norm("default eps", 0.001 * one, layer=layer, eps=None),
        _norm("zeros", 0.0 * one, layer=layer, eps=0.01),
        _norm("one axis", SIGNS, layer=layer),
        _norm("four axes", one[None], layer=layer),
        _norm("float16 of 300", 300.0 * one, layer=layer, of=torch.float16, rtol=2e-3),
        _norm("dtype of float16", one, layer=layer, of=torch.float16, read=dtype),
        _norm("dtype of float32", one, layer=layer, read=dtype),
        _norm("dtype of float32 with a gain", one, layer=layer, gamma=GAIN, read=dtype),
        _norm("argument", [[[2.0, -1.0, 3.0, 0.0]]], layer=layer, after=True, read=arguments),
        _refused(name, "0-d", {"x": 3.0}),
        _refused(name, "an empty axis", {"x": np.zeros((3, 0))}),
        _refused(name, "NaN", {"x": [[1.0, nan]]}),
        _refused(name, "eps of zero", {"x": one}, eps=0.0),
        _refused(name, "a negative eps", {"x": one}, eps=-1e-3),
        _refused(name, "eps of NaN", {"x": one}, eps=nan),
        _refused(name, "a gain of [1]", {"x": one, "gamma": [2.0]}),
        _refused(name, "a gain of [2, 4]", {"x": np.stack([SIGNS, SIGNS]), "gamma": np.ones((2, 4))}),
    )


def _swiglu(
    label: str, gate: object, up: object, *, after: bool = False, read: Reader = output, **options: float
) -> Probe:
    values: dict[str, object] = {"gate": gate, "up": up}
    return Probe(f"swiglu: {label}", _call("swiglu", values, options, after=after), read)


def _activation(
    label: str,
    name: str,
    z: object,
    *,
    of: torch.dtype = torch.float32,
    after: bool = False,
    read: Reader = output,
    rtol: float = 1e-4,
) -> Probe:
    return Probe(f"{name}: {label}", _call(name, {"z": z}, of=of, after=after), read, rtol=rtol)


def _activations(name: str, *known: float) -> tuple[Probe, ...]:
    """The three that are built from a sigmoid; `known`: the right values at log 3 and at -1."""
    return (
        _activation("far", name, FAR),
        _activation("far in float16", name, FAR, of=torch.float16, rtol=4e-3),
        _activation("digits", name, [np.log(3.0), -1.0], of=DOUBLE, read=digits(*known)),
        _activation("digits far out", name, [25.0], of=DOUBLE, read=digits(1.0 if name == "stable_sigmoid" else 25.0)),
    )


_ONES = np.ones(8)
_PAIR = np.stack([SIGNS, 2 * SIGNS])
_MLP = {"w_gate": random(2, 3, 4) / 2, "w_up": random(3, 3, 4) / 2, "w_down": random(4, 4, 3) / 2}
_NAN = float("nan")

NUMPY_BRIDGE = (
    *_both_norms(layer=False),
    _norm("digits", [[0.1, 0.7]], layer=False, eps=0.11, of=torch.float64, read=digits(1 / 6, 7 / 6)),
    *_both_norms(layer=True),
    _norm("shift", SIGNS.reshape(1, 1, 4), layer=True, gamma=np.ones(4), beta=SHIFT),
    _norm("shift alone", SIGNS.reshape(1, 1, 4), layer=True, beta=SHIFT),
    _norm("digits", [[0.1, 0.7]], layer=True, eps=0.16, of=torch.float64, read=digits(-0.6, 0.6)),
    _refused("layer_norm", "a shift of [1]", {"x": SIGNS, "beta": [2.0]}),
    *_activations("stable_sigmoid", 0.75, 0.2689414213699951),
    *_activations("silu", 0.8239592165010823, -0.2689414213699951),
    _activation("argument", "silu", CURVE, after=True, read=arguments),
    _activation("curve", "gelu", CURVE),
    _activation(
        "digits", "gelu", [np.log(3.0), -1.0], of=DOUBLE, read=digits(0.9492355054401483, -0.15865525393145707)
    ),
    *_activations("gelu_sigmoid", 0.9518811314685676, -0.1542042340671787),
    _activation("curve", "gelu_sigmoid", CURVE),
    _swiglu("plain", CURVE, _ONES),
    _swiglu("branches", [1.0, 3.0, -2.0], [3.0, 1.0, 0.5]),
    _swiglu("alpha", CURVE, _ONES, alpha=1.702),
    _swiglu("another alpha", CURVE, _ONES, alpha=0.5),
    _swiglu("shift", np.ones(8), CURVE, shift_up=-0.75),
    _swiglu("large branches", 2.5 * CURVE, -2.5 * CURVE),
    _swiglu("gate clamped", CURVE, _ONES, gate_limit=0.5),
    _swiglu("gate clamped at 7", 2 * CURVE, _ONES, gate_limit=7.0),
    _swiglu("up clamped", _ONES, CURVE, up_limit=0.5),
    _swiglu("up clamped at 7", _ONES, 2 * CURVE, up_limit=7.0),
    _swiglu("up clamped and moved", _ONES, CURVE, up_limit=2.0, shift_up=1.0),
    _swiglu("far", FAR, _ONES),
    _swiglu("arguments", CURVE, CURVE, after=True, read=arguments, gate_limit=0.5, up_limit=0.5),
    _refused("swiglu", "shapes that broadcast", {"gate": _PAIR, "up": SIGNS}),
    _refused("swiglu", "NaN in the gate", {"gate": [_NAN], "up": [1.0]}),
    _refused("swiglu", "a gate limit of zero", {"gate": SIGNS, "up": SIGNS}, gate_limit=0.0),
    _refused("swiglu", "a gate limit of NaN", {"gate": SIGNS, "up": SIGNS}, gate_limit=_NAN),
    _refused("swiglu", "alpha of NaN", {"gate": SIGNS, "up": SIGNS}, alpha=_NAN),
    Probe("swiglu_mlp: tokens", _call("swiglu_mlp", {"x": random(1, 1, 2, 3), **_MLP})),
    Probe("swiglu_mlp: one token", _call("swiglu_mlp", {"x": random(1, 3), **_MLP})),
    Probe("swiglu_mlp: four axes", _call("swiglu_mlp", {"x": random(1, 2, 1, 2, 3), **_MLP})),
    Probe("swiglu_mlp: arguments", _call("swiglu_mlp", {"x": random(1, 1, 2, 3), **_MLP}, after=True), arguments),
)
