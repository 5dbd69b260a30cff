"""What a module just built has to hold. Names and shapes are the student's: nothing here relies on either."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from nanolm import checks
from nanolm.fixtures.modules_file import FreshModule
from nanolm.protocol import Outcome, StudentFault
from nanolm.texts import text
from nanolm.untrusted import listed


def gain_alone(fresh: FreshModule, width: int) -> None:
    """One parameter of shape [width], whatever its name, that an optimiser can train."""
    gains = _gains(fresh, width)
    checks.require(
        len(fresh.values) == 1,
        text("checks", "extra_parameters", found=fresh.listed),
        outcome=Outcome.WRONG_INTERFACE,
        implies="rmsnorm-extra-bias" if _gain_and_bias(list(gains.values()), fresh) else None,
    )
    frozen = [name for name in gains if name not in fresh.trained]
    checks.require(
        not frozen,
        text("checks", "gain_not_trained", found=fresh.listed),
        outcome=Outcome.WRONG_INTERFACE,
        implies="rmsnorm-frozen-gamma",
    )


def _gains(fresh: FreshModule, width: int) -> dict[str, Tensor]:
    gains = {name: value for name, value in fresh.values.items() if list(value.shape) == [width]}
    checks.require(bool(gains), text("checks", "no_gain", found=fresh.listed), outcome=Outcome.WRONG_INTERFACE)
    return gains


def _gain_and_bias(gains: list[Tensor], fresh: FreshModule) -> bool:
    """Two parameters alike, of which one begins at zeros: it is added, since a factor of zeros would be no start."""
    zeros = [bool((value == 0).all()) for value in gains]
    return len(fresh.values) == len(gains) == 2 and sorted(zeros) == [False, True]


def gain_of_ones(fresh: FreshModule, width: int) -> None:
    """The gain (`gamma`, or the first of its shape) begins at ones."""
    gains = _gains(fresh, width)
    name = "gamma" if "gamma" in gains else next(iter(gains))
    gamma = gains[name].double()
    implies = None
    if gamma.isnan().any():
        implies = "rmsnorm-uninitialised-gamma"
    elif bool((gamma == 0).all()):
        implies = "rmsnorm-zero-gamma"
    elif name in fresh.drawn:
        implies = "rmsnorm-random-gamma"
    shown = " ".join(f"{value:.4g}" for value in gamma.tolist())
    headline = text("checks", "fresh_gain", shown=shown)
    checks.require(bool((gamma == 1).all()), headline, outcome=Outcome.WRONG_VALUE, implies=implies)


def three_maps(build: Callable[[int, int], FreshModule], d_model: int, d_ff: int) -> None:
    """w_gate and w_up: [F, D], w_down: [D, F], each an nn.Linear that is trained, and nothing beside them."""
    fresh = build(d_model, d_ff)
    wide, narrow = [d_ff, d_model], [d_model, d_ff]
    expected = {"w_gate.weight": wide, "w_up.weight": wide, "w_down.weight": narrow}
    maps = [name.removesuffix(".weight") for name in expected]
    missing = [name for name in expected if name not in fresh.values]
    forgotten = missing == ["w_down.weight"] and len(fresh.values) == 2
    checks.require(
        not missing,
        text("checks", "no_maps", missing=", ".join(missing), found=fresh.listed),
        outcome=Outcome.WRONG_INTERFACE,
        implies="swiglu-missing-down" if forgotten else None,
    )
    biases = [name for name in fresh.values if name.endswith(".bias")]
    known = {f"{name}.bias" for name in maps if name in fresh.linear}
    checks.require(
        not biases,
        text("checks", "biases", found=listed(biases)),
        outcome=Outcome.WRONG_INTERFACE,
        implies="swiglu-biased-linear" if set(biases) <= known else None,
    )
    extra = [name for name in fresh.values if name not in expected]
    checks.require(not extra, text("checks", "extra_maps", found=listed(extra)), outcome=Outcome.WRONG_INTERFACE)
    checks.require(
        fresh.shapes == expected,
        text("checks", "map_shapes", expected=expected, found=fresh.listed),
        outcome=Outcome.WRONG_SHAPE,
        implies="swiglu-rounded-width" if _rounds_the_width(build, d_model, d_ff) else None,
    )
    linear = all(name in fresh.linear for name in maps)
    checks.require(linear, text("checks", "not_linear_modules"), outcome=Outcome.WRONG_INTERFACE)
    frozen = [name for name in expected if name not in fresh.trained]
    checks.require(
        not frozen,
        text("checks", "maps_not_trained", found=", ".join(frozen)),
        outcome=Outcome.WRONG_INTERFACE,
        implies="swiglu-frozen-maps",
    )


def _rounds_the_width(build: Callable[[int, int], FreshModule], d_model: int, d_ff: int) -> bool:
    """Three maps that fit together, of a width that follows d_ff alone without being it."""
    try:
        given, narrower, wider = (_width(build(*at), at[0]) for at in ((d_model, d_ff), (d_model - 1, d_ff), (6, 1301)))
    except StudentFault:
        return False
    return given is not None and given != d_ff and given == narrower and wider not in (given, None)


def _width(fresh: FreshModule, d_model: int) -> int | None:
    shapes = fresh.shapes
    gate = shapes["w_gate.weight"]
    if len(gate) != 2:
        return None
    fitting = {
        "w_gate.weight": [gate[0], d_model],
        "w_up.weight": [gate[0], d_model],
        "w_down.weight": [d_model, gate[0]],
    }
    return gate[0] if shapes == fitting else None
