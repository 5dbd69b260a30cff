"""Probes of `qk_norm.py`.

With one feature (H = 1) a vector's length, its RMS and √H agree, and a vector of ±1 is a unit vector whatever else is
done to it: such probes show one thing alone. Heads and tokens of ±1 have the same RMS along every axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from nanolm.probes.modules_file import row_sizes
from nanolm.probes.probe import Array, Probe, gradients, random, tensor
from nanolm.protocol import Call, Reply

EPS = 1e-6
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])
SIZES = np.array([1.0, 2.0, 7.0])
GAIN_5 = np.array([0.5, 1.3, 1.9, 0.8, 1.1])

Maker = Callable[[], Call]


def arguments(reply: Reply) -> tuple[str, Array]:
    """All tensor arguments as the call left them."""
    parts = [reply.arguments[name].double().numpy().reshape(-1) for name in sorted(reply.arguments)]
    return "arguments", np.concatenate(parts)


def gradient_of_tau(reply: Reply) -> tuple[str, Array]:
    """The output, and the gradient that reaches tau: whatever else is wrong with q and k stays hidden."""
    y = reply.tensors["y"].double().numpy().reshape(-1)
    found = reply.gradients.get("tau")
    return ("no gradient", y) if found is None else ("gradient", np.append(y, found.double().numpy()))


def _call(
    entry: str,
    values: Mapping[str, Array],
    scalars: Mapping[str, float | int | None],
    *,
    dtype: torch.dtype = torch.float32,
    upstream: tuple[int, ...] | None = None,
    after: bool = False,
    turn: tuple[int, int] | None = None,
) -> Maker:
    """A call; `upstream` is the shape of the output whose gradients are asked for, `turn` swaps two axes of q and k."""

    def call() -> Call:
        tensors: dict[str, Tensor] = {name: tensor(value, dtype) for name, value in values.items()}
        if turn is not None:
            tensors |= {name: tensors[name].transpose(*turn) for name in ("q", "k") if name in tensors}
        given = {name: value for name, value in scalars.items() if value is not None}
        weights = {} if upstream is None else {"y": tensor(random(9, *upstream), dtype)}
        return Call(entry, tensors, given, weights, after)

    return call


def _scores(
    q: object,
    k: object,
    tau: float = 1.0,
    *,
    eps: float | None = EPS,
    as_given: bool = False,
    tau_tensor: bool = False,
    upstream: tuple[int, ...] | None = None,
    dtype: torch.dtype = torch.float32,
    after: bool = False,
    turn: tuple[int, int] | None = None,
) -> Maker:
    """Rows become [1, 1, S, H], since code for that rank alone is common; `as_given` leaves them."""
    values = {name: np.asarray(rows, dtype=np.float64) for name, rows in (("q", q), ("k", k))}
    if not as_given:
        values = {name: rows.reshape((1, 1, *rows.shape)[-4:]) for name, rows in values.items()}
        upstream = upstream and (1, 1, *upstream)
    if tau_tensor:
        values["tau"] = np.asarray(tau)
    scalars = {"tau": None if tau_tensor else tau, "eps": eps}
    return _call("l2_qk_scores", values, scalars, dtype=dtype, upstream=upstream, after=after, turn=turn)


def _norms(
    label: str,
    rows: Array,
    *,
    heads: bool,
    gamma: Array | None = None,
    eps: float | None = EPS,
    dtype: torch.dtype = torch.float32,
    after: bool = False,
    gradient: bool = False,
    turn: tuple[int, int] | None = None,
    row_wise: bool = False,
) -> Probe:
    """One probe of a norm. `rows` is [B, S, N, H]; for the norm over the full width its last two axes are joined."""
    n_heads, width = rows.shape[-2:]
    q = rows if heads else rows.reshape(*rows.shape[:2], n_heads * width)
    size = width if heads else n_heads * width
    values = {"q": q, "gamma": np.ones(size) if gamma is None else gamma}
    upstream = rows.shape if gradient else None
    if heads:
        call = _call("per_head_rms_norm", values, {"eps": eps}, dtype=dtype, upstream=upstream, after=after, turn=turn)
    else:
        scalars = {"n_heads": n_heads, "eps": eps}
        call = _call("full_width_rms_norm", values, scalars, dtype=dtype, upstream=upstream, after=after, turn=turn)
    name = f"{'per head' if heads else 'full width'}: {label}"
    if row_wise:
        return Probe(name, call, row_sizes, rtol=1e-3, coarse=True)
    if gradient:
        return Probe(name, call, gradients)
    if after:
        return Probe(name, call, arguments)
    return Probe(name, call, rtol=2e-3 if dtype == torch.float16 else 1e-4)


def _capped(
    scores: object,
    cap: float = 2.0,
    *,
    entry: str = "soft_cap",
    upstream: tuple[int, ...] | None = None,
    dtype: torch.dtype = torch.float32,
    after: bool = False,
) -> Maker:
    values = {"scores": np.asarray(scores, dtype=np.float64)}
    return _call(entry, values, {"cap": cap}, dtype=dtype, upstream=upstream, after=after)


def _both_norms(*, heads: bool) -> tuple[Probe, ...]:
    """What the two norms have in common: one head a token, so that they agree."""
    one = SIGNS.reshape(1, 1, 1, 4)
    return (
        _norms("gain", np.array([1.0, -1.0]).reshape(1, 2, 1, 1), heads=heads, gamma=np.array([1.7])),
        _norms("size", one, heads=heads),
        _norms("sizes of tokens", SIZES.reshape(1, 3, 1, 1) * one, heads=heads),
        _norms("sizes in the batch", SIZES.reshape(3, 1, 1, 1) * one, heads=heads),
        _norms("eps", 0.004 * one, heads=heads, eps=0.01),
        _norms("default eps", 0.001 * one, heads=heads, eps=None),
        _norms("zeros", 0.0 * one, heads=heads, eps=0.01),
        _norms("float16 of 300", 300.0 * one, heads=heads, dtype=torch.float16),
        _norms("bfloat16", random(3, 1, 24, 1, 64), heads=heads, dtype=torch.bfloat16, row_wise=True),
        _norms("gradient of one feature", np.full((1, 1, 1, 1), 2.0), heads=heads, gradient=True),
        _norms("gradients", random(4, 1, 1, 1, 5), heads=heads, gamma=GAIN_5, eps=1e-3, gradient=True),
        _norms("argument", 2.0 * one, heads=heads, after=True),
    )


_ONE = [[1.0]]
_E = np.eye(5)[:1]
_RING = np.array([[1.0, 2.0, 3.0, -3.0, 1.0, -2.0], [-2.0, 3.0, 1.0, 2.0, -1.0, 3.0]])
_CURVE = np.array([-8.0, -3.0, -1.0, -0.25, 0.25, 1.0, 3.0, 8.0])

QK_NORM = (
    Probe("scores: tau", _scores([[-1.0]], [[-1.0]], 3.0)),
    Probe(
        "scores: gradient of tau", _scores([[-1.0]], [[-1.0]], 3.0, tau_tensor=True, upstream=(1, 1)), gradient_of_tau
    ),
    Probe("scores: five features", _scores(_E, _E)),
    Probe("scores: a long query", _scores([[2.0]], _ONE)),
    Probe("scores: a long key", _scores(_ONE, [[2.0]])),
    Probe("scores: along the sequence", _scores([[1.0], [-1.0], [1.0]], _ONE)),
    Probe("scores: along axis 1", _scores(np.ones((1, 3, 1, 1)), np.ones((1, 3, 1, 1)))),
    Probe("scores: queries by keys", _scores([[1.0], [-1.0]], [[1.0], [1.0], [-1.0]])),
    Probe("scores: floor", _scores([[0.1]], _ONE, eps=0.5)),
    Probe("scores: floor of a key", _scores(_ONE, [[0.1]], eps=0.5)),
    Probe("scores: default floor", _scores([[1e-7]], _ONE, eps=None)),
    Probe("scores: zeros", _scores([[0.0]], _ONE)),
    Probe("scores: two axes", _scores(_ONE, _ONE, as_given=True)),
    Probe("scores: three axes", _scores([_ONE], [_ONE], as_given=True)),
    Probe("scores: five axes", _scores([[[_ONE]]], [[[_ONE]]], as_given=True)),
    Probe("scores: turned", _scores(np.ones((2, 3, 2, 1)), np.ones((2, 3, 2, 1)), turn=(1, 2))),
    Probe("scores: tokens", _scores(random(1, 2, 3, 2, 5), random(2, 2, 3, 4, 5), 3.0)),
    Probe("scores: gradients", _scores(random(1, 2, 5), random(2, 3, 5), upstream=(2, 3)), gradients),
    Probe("scores: bfloat16", _scores(_ONE, _ONE, dtype=torch.bfloat16)),
    Probe("scores: arguments", _scores([[2.0]], [[2.0]], after=True), arguments),
    *_both_norms(heads=True),
    _norms("sizes of heads", SIZES.reshape(1, 1, 3, 1) * SIGNS, heads=True),
    _norms("features", np.array([2.0, -1.0, 3.0, 0.0]).reshape(1, 1, 1, 4), heads=True),
    _norms("turned", np.ones((1, 3, 2, 1)), heads=True, turn=(1, 2)),
    *_both_norms(heads=False),
    _norms("split", _RING.reshape(1, 2, 2, 3), heads=False),
    _norms("sizes of heads", SIZES.reshape(1, 1, 3, 1) * SIGNS, heads=False),
    _norms("turned", np.ones((2, 3, 1, 2)), heads=False, turn=(0, 1)),
    Probe("cap: curve", _capped(_CURVE)),
    Probe("cap: small scores", _capped([-0.01, 0.01])),
    Probe("cap: far scores", _capped([-1e4, 1e4])),
    Probe("cap: gradients", _capped(_CURVE, upstream=(8,)), gradients),
    Probe("cap: bfloat16", _capped([[3.0]], dtype=torch.bfloat16), rtol=2e-2),
    Probe("cap: zero", _capped([1.0], 0.0, entry="soft_cap_refusal")),
    Probe("cap: negative", _capped([1.0], -2.0, entry="soft_cap_refusal")),
    Probe("cap: argument", _capped([1.0], after=True), arguments),
)
