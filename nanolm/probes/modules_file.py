"""Probes of `modules.py`.

Tokens of ±1 have the same RMS along every axis and mean zero along the last: they hide wrong axes and centring and
leave the gain, eps and the dtype to be seen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from nanolm.probes.probe import Array, Probe, argument, gradients, random, tensor
from nanolm.protocol import Call, Fact, Reply

SIGNS = np.array([1.0, -1.0, 1.0, -1.0])


def row_sizes(reply: Reply) -> tuple[str, Array]:
    """The RMS of every token: rounding all the way shifts whole tokens, rounding once at the end does not."""
    y = reply.tensors["y"]
    kind = f"{str(y.dtype).removeprefix('torch.')}{list(y.shape)}"
    return kind, np.sqrt(np.mean(y.double().numpy() ** 2, axis=-1)).reshape(-1)


def _signs(*leading: int) -> Array:
    """Tokens of ±1, [*leading, 4]; neighbouring tokens have opposite signs."""
    turns = np.where(np.indices((*leading, 1)).sum(axis=0) % 2, -1.0, 1.0) if leading else np.ones(1)
    return np.asarray(turns * SIGNS)


def _norm(
    x: Array,
    *,
    gamma: Array | None = None,
    eps: float | None = 1e-6,
    dtype: torch.dtype = torch.float32,
    upstream: bool = False,
    return_arguments: bool = False,
) -> Callable[[], Call]:
    def call() -> Call:
        gain = np.ones(x.shape[-1]) if gamma is None else gamma
        scalars = {"d_model": x.shape[-1]} | ({} if eps is None else {"eps": eps})
        weights = {"y": tensor(random(9, *x.shape))} if upstream else {}
        return Call(
            "rms_norm", {"x": tensor(x, dtype), "gamma": tensor(gain, dtype)}, scalars, weights, return_arguments
        )

    return call


def _gain(reply: Reply) -> str:
    """The name of the gain: gamma, or the first parameter of width 7."""
    gains = [name for name, value in sorted(reply.tensors.items()) if value.shape == (7,)]
    return "parameter:gamma" if "parameter:gamma" in gains else gains[0]


def _fresh_norm(reply: Reply) -> tuple[str, Array]:
    """Which parameters there are beside the gain, which of those begin at zeros, and whether the gain is trained."""
    gain = _gain(reply)
    beside = sorted(
        (list(value.shape), bool((value == 0).all())) for name, value in reply.tensors.items() if name != gain
    )
    trained = gain.removeprefix("parameter:") in _names(reply, "trained")
    return f"fresh: gain trained: {trained}, beside it: {beside}", np.zeros(0)


def _fresh_gain(reply: Reply) -> tuple[str, Array]:
    """How the gain begins: the same for every seed, and then at which numbers; or drawn at random."""
    name = _gain(reply)
    gain = reply.tensors[name].double().numpy()
    if np.isnan(gain).any():
        return "fresh: not a number", np.zeros(0)
    if name.removeprefix("parameter:") in _names(reply, "drawn"):
        return "fresh: random", np.zeros(0)
    return "fresh", gain


def _names(reply: Reply, fact: str) -> list[Fact]:
    names = reply.facts[fact]
    assert isinstance(names, list)
    return names


_TOKENS = random(1, 2, 3, 5)
_CENTRED = _TOKENS - _TOKENS.mean(axis=-1, keepdims=True)
_GAIN_4 = np.array([0.5, 1.3, 1.9, 0.8])
_GAIN_5 = np.array([0.5, 1.3, 1.9, 0.8, 1.1])

RMSNORM = (
    Probe("tokens", _norm(_TOKENS)),
    Probe("centred tokens", _norm(_CENTRED)),
    Probe("a constant token", _norm(np.full((1, 1, 5), 4.0))),
    Probe("gain on signs", _norm(_signs(2, 3), gamma=_GAIN_4)),
    Probe("gain on tokens", _norm(_CENTRED, gamma=_GAIN_5)),
    Probe("eps on small signs", _norm(0.004 * _signs(2, 3), eps=0.01)),
    Probe("eps on one feature", _norm(0.004 * _signs(2, 3)[..., :1], eps=0.01)),
    Probe("default eps", _norm(0.001 * _signs(1, 1), eps=None)),
    Probe("a zero token", _norm(np.zeros((1, 1, 4)), eps=0.01)),
    Probe("float16 signs of 300", _norm(300 * _signs(1, 2), dtype=torch.float16), rtol=2e-3),
    Probe("bfloat16 tokens", _norm(random(3, 1, 24, 64), dtype=torch.bfloat16), row_sizes, rtol=1e-3, coarse=True),
    Probe("one axis", _norm(_signs())),
    Probe("two axes", _norm(_signs(3))),
    Probe("four axes", _norm(_signs(2, 3, 2))),
    Probe("gradients", _norm(_CENTRED, gamma=_GAIN_5, eps=1e-3, upstream=True), gradients),
    Probe("argument", _norm(2 * _signs(1, 2), return_arguments=True), argument),
    Probe("fresh", lambda: Call("rms_norm_fresh", {}, {"d_model": 7}), _fresh_norm),
    Probe("fresh gain", lambda: Call("rms_norm_fresh", {}, {"d_model": 7}), _fresh_gain),
)


def _ffn(
    gate: Array,
    up: Array,
    *,
    upstream: bool = False,
    return_arguments: bool = False,
    dtype: torch.dtype = torch.float32,
) -> Callable[[], Call]:
    """A SwiGLU with D = 2F whose branches hold just these numbers."""

    def call() -> Call:
        width = gate.shape[-1]
        eye, zeros = np.eye(width), np.zeros((width, width))
        x = np.concatenate([gate, up], axis=-1)
        tensors = {
            "x": x,
            "w_gate": np.concatenate([eye, zeros], axis=1),
            "w_up": np.concatenate([zeros, eye], axis=1),
            "w_down": np.concatenate([eye, zeros], axis=0),
        }
        weights = {"y": tensor(np.ones(x.shape))} if upstream else {}
        return Call(
            "swiglu",
            {name: tensor(value, dtype) for name, value in tensors.items()},
            {"d_model": 2 * width, "d_ff": width},
            weights,
            return_arguments,
        )

    return call


def _random_ffn(*, upstream: bool = False) -> Callable[[], Call]:
    def call() -> Call:
        shapes = {"x": (2, 3, 5), "w_gate": (7, 5), "w_up": (7, 5), "w_down": (5, 7)}
        tensors = {name: tensor(random(20 + i, *shape)) for i, (name, shape) in enumerate(shapes.items())}
        weights = {"y": tensor(random(29, 2, 3, 5))} if upstream else {}
        return Call("swiglu", tensors, {"d_model": 5, "d_ff": 7}, weights)

    return call


def _fresh_ffn(reply: Reply) -> tuple[str, Array]:
    """The sizes of the maps; whether there is anything beside them, and whether all that there is can be trained."""
    shapes = {name.removeprefix("parameter:"): list(value.shape) for name, value in sorted(reply.tensors.items())}
    beside = [name for name in shapes if name not in _MAPS]
    maps = [size for name in _MAPS for size in shapes[name]]
    frozen = len(shapes) - len(_names(reply, "trained"))
    return f"fresh: {frozen} frozen, beside the maps: {beside}", np.array(maps, dtype=np.float64)


def _wide_ffn(reply: Reply) -> tuple[str, Array]:
    """The width alone, where it is not small any more."""
    return "fresh", np.array(reply.tensors["parameter:w_gate.weight"].shape[:1], dtype=np.float64)


_MAPS = ("w_down.weight", "w_gate.weight", "w_up.weight")
_Z = np.array([[[-4.0, -1.0, -0.25, 0.25, 1.0, 4.0]]])
_OPEN = np.full((1, 1, 5), 20.0)
_UPS = np.array([[[-8.0, -1.0, 0.5, 2.0, 9.0]]])
_FAR = np.array([[[-1e4, -500.0, -100.0, 100.0, 500.0, 1e4]]])

SWIGLU = (
    Probe("random maps", _random_ffn(), rtol=1e-3, atol=1e-4),
    Probe("gate curve", _ffn(_Z, np.ones_like(_Z))),
    Probe("open gates", _ffn(_OPEN, _UPS)),
    Probe("shut gates", _ffn(-3 * _OPEN, _UPS)),
    Probe("far gates", _ffn(_FAR, np.ones_like(_FAR))),
    Probe("gradients of far gates", _ffn(_FAR, np.ones_like(_FAR), upstream=True), gradients),
    Probe("gradients", _random_ffn(upstream=True), gradients, rtol=1e-3, atol=1e-4),
    Probe("one axis", _ffn(_OPEN[0, 0], _UPS[0, 0])),
    Probe("two axes", _ffn(_OPEN[0], _UPS[0])),
    Probe("four axes", _ffn(_OPEN[None], _UPS[None])),
    Probe("bfloat16", _ffn(_OPEN, _UPS, dtype=torch.bfloat16), rtol=2e-2),
    Probe("argument", _ffn(_OPEN, _UPS, return_arguments=True), argument),
    Probe("fresh", lambda: Call("swiglu_fresh", {}, {"d_model": 6, "d_ff": 13}), _fresh_ffn),
    Probe("fresh and wide", lambda: Call("swiglu_fresh", {}, {"d_model": 5, "d_ff": 83}), _wide_ffn),
)
