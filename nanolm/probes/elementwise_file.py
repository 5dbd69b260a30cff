"""Probes of `elementwise.py`.

The curves are probed at a gain of ones and a shift of zeros, gain and shift at one input each, so that a probe shows
one thing alone. At alpha = 1 whatever is done with alpha hides. In a token of 2 and -2 the mean of squares is each
square.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from nanolm.probes.probe import Array, Probe, argument, gradients, random, tensor
from nanolm.protocol import Call, Reply

CURVE = np.array([-8.0, -3.0, -1.0, -0.25, 0.25, 1.0, 3.0, 8.0])
NEIGHBOURS = np.array([[[0.5, -1.0, 2.0, 4.0], [1.0, 1.0, -30.0, 0.25]]])
GAIN_4 = np.array([0.5, 1.3, 1.9, 0.8])
SHIFT_4 = np.array([0.3, -0.7, 1.1, -0.4])
PAIR = np.array([2.0, -2.0])
B_OF_R = {2.0: 2.1269280110429727, 0.5: 0.9740769841801067, -1.0: 0.31326168751822286, -9.0: 0.00012340218972334965}
"""Values of r, and the b that belongs to each: what a module has to be built with to begin there."""

NONE = np.zeros(0)


def _call(
    entry: str,
    rows: Array,
    number: float = 1.0,
    *,
    gamma: Array | None = None,
    beta: Array | None = None,
    start: float | None = None,
    as_given: bool = False,
    upstream: bool = False,
    after: bool = False,
    dtype: torch.dtype = torch.float32,
) -> Callable[[], Call]:
    """A call with all parameters given, of a module that is built to start at its number, or at `start`.

    Rows become [1, 1, D], since code for that rank alone is common.
    """

    def call() -> Call:
        x = rows if as_given or rows.ndim != 1 else rows[None, None]
        width = x.shape[-1]
        name, begin, own = ("alpha", "alpha0", number) if entry == "dyt" else ("r", "b0", B_OF_R.get(number, 1.0))
        values = {
            "x": x,
            name: np.asarray(number),
            "gamma": np.ones(width) if gamma is None else gamma,
            "beta": np.zeros(width) if beta is None else beta,
        }
        tensors = {key: tensor(value, dtype) for key, value in values.items()}
        weights = {"y": tensor(random(9, *x.shape), dtype)} if upstream else {}
        return Call(entry, tensors, {"d_model": width, begin: own if start is None else start}, weights, after)

    return call


def _started(entry: str, **start: float) -> Callable[[], Call]:
    """A module as it was built, on small and on large inputs."""
    return lambda: Call(entry, {"x": tensor([[[0.01, -0.5, 2.0]]])}, {"d_model": 3, **start})


def _fresh(entry: str, **start: float) -> Callable[[], Call]:
    return lambda: Call(f"{entry}_fresh", {}, {"d_model": 7, **start})


def _held(reply: Reply, role: str) -> tuple[str, Tensor | None]:
    """The name and the value of the parameter that has a role."""
    roles = reply.facts["roles"]
    assert isinstance(roles, dict)
    name = str(roles.get(role, ""))
    return name, reply.tensors.get(f"parameter:{name}")


def _kind(reply: Reply, role: str) -> str:
    """The shape of a parameter, and whether it is trained; one number is one number, as [] or as [1]."""
    name, value = _held(reply, role)
    if value is None:
        return "none"
    trained = reply.facts["trained"]
    assert isinstance(trained, list)
    return f"{'one number' if value.numel() == 1 else list(value.shape)}{'' if name in trained else ', frozen'}"


def _number(role: str) -> Callable[[Reply], tuple[str, Array]]:
    return lambda reply: (f"fresh {_kind(reply, role)}", NONE)


def _row(role: str) -> Callable[[Reply], tuple[str, Array]]:
    """What a gain or a shift is, and the numbers it starts at, unless they are drawn or nobody has filled them."""

    def read(reply: Reply) -> tuple[str, Array]:
        kind = f"fresh {_kind(reply, role)}{_drawn(reply, role)}"
        _, value = _held(reply, role)
        return kind, NONE if value is None or _drawn(reply, role) else value.double().numpy().reshape(-1)

    return read


def _origin(role: str) -> Callable[[Reply], tuple[str, Array]]:
    """What the curve's number starts at, unless it is drawn, or never written at all."""

    def read(reply: Reply) -> tuple[str, Array]:
        drawn = _drawn(reply, role)
        _, value = _held(reply, role)
        return f"fresh{drawn}", NONE if value is None or drawn else value.double().numpy().reshape(-1)[:1]

    return read


def _drawn(reply: Reply, role: str) -> str:
    name, value = _held(reply, role)
    drawn = reply.facts["drawn"]
    assert isinstance(drawn, list)
    if value is not None and bool(value.isnan().any()):
        return ": not a number"
    return ": random" if name in drawn else ""


def _beside(reply: Reply) -> tuple[str, Array]:
    """The parameters that have no role."""
    roles = reply.facts["roles"]
    assert isinstance(roles, dict)
    names = {f"parameter:{name}" for name in roles.values()}
    return f"fresh: {sorted(list(value.shape) for key, value in reply.tensors.items() if key not in names)}", NONE


def _both(entry: str, of: str, number: str, neutral: float) -> tuple[Probe, ...]:
    """What the two classes have in common; at `neutral` their number hides, as far as it can."""
    gain, shift = np.array([1.7, 0.6]), np.array([0.6, -0.3])
    return (
        Probe(f"{of}: gain", _call(entry, PAIR, neutral, gamma=gain)),
        Probe(f"{of}: shift", _call(entry, PAIR, neutral, beta=shift)),
        Probe(f"{of}: gain and shift", _call(entry, PAIR, neutral, gamma=gain, beta=shift)),
        Probe(f"{of}: neighbours", _call(entry, NEIGHBOURS, neutral)),
        Probe(f"{of}: far", _call(entry, np.array([-1e4, -300.0, 300.0, 1e4]), neutral)),
        Probe(f"{of}: one axis", _call(entry, PAIR, neutral, as_given=True)),
        Probe(f"{of}: two axes", _call(entry, PAIR[None], neutral)),
        Probe(f"{of}: four axes", _call(entry, PAIR[None, None, None], neutral)),
        Probe(f"{of}: bfloat16", _call(entry, PAIR, neutral, dtype=torch.bfloat16), rtol=3e-2),
        Probe(f"{of}: argument", _call(entry, PAIR, 0.5, after=True), argument),
        Probe(f"{of}: gradients", _call(entry, NEIGHBOURS, 0.5, gamma=GAIN_4, beta=SHIFT_4, upstream=True), gradients),
        Probe(f"{of}: fresh number", _fresh(entry), _number(number)),
        Probe(f"{of}: fresh origin", _fresh(entry), _origin(number)),
        Probe(f"{of}: fresh gain", _fresh(entry), _row("gamma")),
        Probe(f"{of}: fresh shift", _fresh(entry), _row("beta")),
        Probe(f"{of}: fresh rest", _fresh(entry), _beside),
        Probe(f"{of}: as built", _started(entry)),
    )


ELEMENTWISE = (
    Probe("DyT: curve", _call("dyt", CURVE)),
    Probe("DyT: slow curve", _call("dyt", CURVE, 0.4)),
    Probe("DyT: curve upside down", _call("dyt", CURVE, -0.7, start=0.5)),
    *_both("dyt", "DyT", "alpha", 1.0),
    Probe("DyT: fresh alpha of a quarter", _fresh("dyt", alpha0=0.25), _origin("alpha")),
    Probe("DyT: alpha0 of a quarter", _started("dyt", alpha0=0.25)),
    Probe("DyISRU: curve", _call("dyisru", CURVE, 0.5)),
    Probe("DyISRU: wide curve", _call("dyisru", CURVE, 2.0)),
    Probe("DyISRU: sharp curve", _call("dyisru", CURVE, -1.0)),
    Probe("DyISRU: tiny b", _call("dyisru", np.array([-0.001, 0.001, 0.01]), -9.0), rtol=1e-2),
    Probe("DyISRU: r moved", _call("dyisru", PAIR, 2.0, start=0.1)),
    *_both("dyisru", "DyISRU", "r", 0.5),
    Probe("DyISRU: b0 of a tenth", _started("dyisru", b0=0.1)),
    Probe("DyISRU: fresh r of a tenth", _fresh("dyisru", b0=0.1), _origin("r")),
    Probe("DyISRU: b0 of 30", _started("dyisru", b0=30.0)),
)
