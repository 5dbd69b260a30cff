"""Probes of `hyper_connections.py`.

Logits near zero reach the limit of Sinkhorn within twenty rounds, from wherever they start: they hide the order and the
number of rounds. A silent branch, streams of zeros and streams that cancel each leave one part of a step to be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nanolm.probes.probe import Array, Probe, gradients, output, random, tensor
from nanolm.protocol import Call, Reply

ROUNDS = 20


def _project(
    logits: Array, n_iters: int | None = ROUNDS, dtype: torch.dtype = torch.float32, *, upstream: bool = False
) -> Callable[[], Call]:
    def call() -> Call:
        weights = {"y": tensor(random(39, *logits.shape))} if upstream else {}
        return Call(
            "sinkhorn", {"logits": tensor(logits, dtype)}, {} if n_iters is None else {"n_iters": n_iters}, weights
        )

    return call


def _changed(reply: Reply) -> tuple[str, Array]:
    """Whether the call changed an argument: 1 for each that it did."""
    given = {"logits": _MILD, "X": _X, "R": _R}
    changed = [
        float(not torch.equal(value, tensor(given[name])))
        for name, value in sorted(reply.arguments.items())
        if name in given
    ]
    return "changed", np.array(changed)


def _rounding(reply: Reply) -> tuple[str, Array]:
    """How much row sums of bfloat16 scatter: 0 where entries were rounded once, 1 where at every step, 2 far more.

    Right answers scatter by 0.0009, those that round at every step by 0.0021 and more; another wrong value, the same
    in every row, does not scatter at all.
    """
    kind, sums = _row_sums(reply)
    scatter = float(sums.std())
    return kind, np.array([0.0 if scatter < 0.0015 else 1.0 if scatter < 0.02 else 2.0])


def _row_sums(reply: Reply) -> tuple[str, Array]:
    """The sum of each row: 1, whatever the logits are."""
    y = reply.tensors["y"]
    return f"{str(y.dtype).removeprefix('torch.')}{list(y.shape)}", y.double().numpy().sum(axis=-1).reshape(-1)


def _vectors(reply: Reply) -> tuple[str, Array]:
    """How many vectors the branch was handed, over all its calls."""
    used: Any = reply.facts["branch"]
    return f"called: {used['calls'] != 0}", np.array([sum(float(np.prod(shape[:-1])) for shape in used["shapes"])])


def _dtype(reply: Reply) -> tuple[str, Array]:
    """The dtype of the output alone."""
    return str(reply.tensors["y"].dtype).removeprefix("torch."), np.zeros(0)


def _stream_0(reply: Reply) -> tuple[str, Array]:
    """What the first stream holds."""
    kind, _ = output(reply)
    return kind, reply.tensors["y"][..., 0, :].double().numpy().reshape(-1)


def _residual_gradient(reply: Reply) -> tuple[str, Array]:
    """The gradient with respect to the residual logits, where one reaches them: the branch has no part in it."""
    found = reply.gradients.get("residual_logits")
    return ("unreached", np.zeros(0)) if found is None else ("gradient", found.double().numpy().reshape(-1))


def _direction(reply: Reply) -> tuple[str, Array]:
    """What the first stream holds, up to a positive factor: how much was written is hidden."""
    kind, held = _stream_0(reply)
    return kind, held / max(float(np.linalg.norm(held)), 1e-12)


def _layer(entry: str, *, n_iters: int | None = None, upstream: bool = False, **changed: Array) -> Callable[[], Call]:
    """A step of three streams on the arrays below, some of them changed."""

    def call() -> Call:
        names = _STEP if entry == "hyper_connection_step" else _MHC_STEP if entry == "mhc_step" else ("R", "X")
        arrays = {name: changed.get(name, _ARRAYS[name]) for name in names}
        weights = {"y": tensor(random(49, *arrays["X"].shape))} if upstream else {}
        tensors: dict[str, Tensor] = {name: tensor(value) for name, value in arrays.items()}
        return Call(entry, tensors, {} if n_iters is None else {"n_iters": n_iters}, weights)

    return call


def _in_bfloat16(call: Callable[[], Call]) -> Callable[[], Call]:
    def narrowed() -> Call:
        made = call()
        return Call(made.entry, {name: value.bfloat16() for name, value in made.tensors.items()}, made.scalars)

    return narrowed


def _leaving(call: Callable[[], Call]) -> Callable[[], Call]:
    def leaving() -> Call:
        made = call()
        return Call(made.entry, made.tensors, made.scalars, return_arguments=True)

    return leaving


_MILD = 0.5 * random(31, 3, 3)
_SPREAD = 1.5 * random(32, 3, 3)
_SLOW = np.array([[0.0, 0.0], [-12.0, 0.0]])
_BATCH = 0.5 * random(33, 2, 3, 3)
_FIRST_ROW = np.array([[200.0], [0.0], [0.0]])
_APART = np.array([0.0, 150.0])[:, None, None]
_HIGH = np.full((3, 3), 150.0)

_X = random(41, 1, 5, 3, 7)
_R = random(42, 3, 3)
_READ = np.array([0.9, -0.4, 0.6])
_WRITE = np.array([-0.7, 1.2, 0.5])
_A = random(43, 7, 7) / 7**0.5
_B = np.linspace(0.2, 0.6, 7)
_EMPTY_FIRST = _X * np.array([[0.0], [1.0], [1.0]])
_CANCEL = _X[..., :1, :] * np.array([[0.0], [1.0], [-1.0]])
_TWO = np.zeros(2)
_FIRST = np.array([1.0, 0.0, 0.0])
_SILENT: dict[str, Any] = {"A": np.zeros((7, 7)), "b": np.zeros(7)}
_SLOW_STEP: dict[str, Any] = {"X": np.eye(2)[None, None], "residual_logits": _SLOW, "A": np.zeros((2, 2)), "b": _TWO}
_SLOW_STEP |= {"read_logits": _TWO, "write_logits": _TWO}

_ARRAYS = {
    "X": _X, "R": _R, "read": _READ, "write": _WRITE, "A": _A, "b": _B,
    "residual_logits": _SPREAD, "read_logits": 2 * _READ, "write_logits": _WRITE,
}  # fmt: skip
_STEP = ("X", "R", "read", "write", "A", "b")
_MHC_STEP = ("X", "residual_logits", "read_logits", "write_logits", "A", "b")

MHC = (
    Probe("one round", _project(_SPREAD, 1)),
    Probe("three rounds", _project(_SPREAD, 3)),
    Probe("many rounds", _project(_SLOW, 20)),
    Probe("default rounds", _project(_SLOW, None)),
    Probe("converged", _project(_MILD)),
    Probe("logits of 150", _project(_MILD + _HIGH)),
    Probe("a far row", _project(_MILD + _FIRST_ROW), rtol=1e-3),
    Probe("a far column", _project(_MILD + _FIRST_ROW.T), rtol=1e-3),
    Probe("logits of ±10000", _project(1e4 * np.sign(random(34, 3, 3))), _row_sums, rtol=1e-2),
    Probe("a batch", _project(_BATCH)),
    Probe("members apart", _project(_BATCH + _APART), rtol=1e-3),
    Probe("bfloat16", _project(random(35, 64, 4, 4), ROUNDS, torch.bfloat16), _rounding),
    Probe("gradients of one round", _project(_SPREAD, 1, upstream=True), gradients),
    Probe("gradients of many rounds", _project(_MILD, upstream=True), gradients, rtol=1e-3, atol=1e-4),
    Probe("logits afterwards", _leaving(_project(_MILD, 1)), _changed),
    Probe("mix", _layer("mix_streams")),
    Probe("mix of one token", _layer("mix_streams", X=_X[0, 0])),
    Probe("mix on one axis", _layer("mix_streams", X=_X[0])),
    Probe("dtype of a mix", _in_bfloat16(_layer("mix_streams")), _dtype),
    Probe("mix afterwards", _leaving(_layer("mix_streams")), _changed),
    Probe("step", _layer("hyper_connection_step")),
    Probe("residual alone", _layer("hyper_connection_step", **_SILENT)),
    Probe("write alone", _layer("hyper_connection_step", X=0 * _X)),
    Probe("read alone", _layer("hyper_connection_step", X=_EMPTY_FIRST, R=0 * _R, write=_FIRST), _stream_0),
    Probe("branch", _layer("hyper_connection_step"), _vectors),
    Probe("step of one token", _layer("hyper_connection_step", X=_X[0, 0], **_SILENT)),
    Probe("step on one axis", _layer("hyper_connection_step", X=_X[0], **_SILENT)),
    Probe("dtype of a step", _in_bfloat16(_layer("hyper_connection_step")), _dtype),
    Probe("step afterwards", _leaving(_layer("hyper_connection_step")), _changed),
    Probe("constrained mix", _layer("mhc_step", n_iters=20, residual_logits=_MILD, **_SILENT)),
    Probe("constrained mix, one round", _layer("mhc_step", n_iters=1, **_SILENT)),
    Probe("constrained mix, default", _layer("mhc_step", **_SLOW_STEP)),
    Probe("squashed read", _layer("mhc_step", X=_CANCEL, residual_logits=0 * _R, write_logits=np.ones(3)), _direction),
    Probe("squashed write", _layer("mhc_step", X=0 * _X)),
    Probe(
        "gradients of a constrained mix", _layer("mhc_step", n_iters=1, upstream=True, **_SILENT), _residual_gradient
    ),
)
