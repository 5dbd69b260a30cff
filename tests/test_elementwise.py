"""Graded tests of `elementwise.py` (6 points): DyT, DyISRU, and what both promise.

A class that is written alone earns its own four tests. In these, gamma is ones and beta zeros unless they are the
question. A floor of at most 1e-6 under b is right everywhere: where b is tiny, the tolerance makes room for it.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from nanolm import checks
from nanolm.fixtures.elementwise_file import CurveCalls, FreshCurve
from nanolm.protocol import Outcome
from nanolm.texts import text
from tests import inputs, tolerances
from tests import oracles_elementwise as oracles
from tests.inputs import B, D, S
from tests.oracles import Array

# Mistakes that many tests catch, by what they get wrong.
SQUASHING = ("alpha-outside-tanh", "forgotten-alpha", "divides-by-alpha", "not-tanh")
ROOT = (
    "b-outside-sqrt", "split-root", "missing-sqrt", "b-squared", "forgotten-b", "multiplies-by-root", "x-not-squared",
    "kept-root-d", "forgotten-x",
)  # fmt: skip
POSITIVE = ("raw-b", "not-softplus")
AFFINE = ("forgotten-beta", "forgotten-gamma", "beta-scaled", "gamma-plus-one")

FAR_AND_NEAR = np.array([[-1e4, -300.0, -4.0, -1.0, -0.25, -0.01, 0.0], [0.0, 0.01, 0.25, 1.0, 4.0, 300.0, 1e4]])
BESIDE_ZERO = np.array([[[-2.0, -0.3, -0.01, 0.0, 0.01, 0.3, 2.0]]])
FLOOR = 1e-6
"""The largest floor under b that the exercise admits."""

Arguments = dict[str, Tensor]


def arguments(
    name: str, number: float, x: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None
) -> Arguments:
    """x and the parameters, in the dtype of x; `name` is the number's (alpha, r)."""
    width = x.shape[-1]
    gain = inputs.ones(width) if gamma is None else gamma
    shift = torch.zeros(width) if beta is None else beta
    given = {"x": x, name: torch.tensor(number), "gamma": gain, "beta": shift}
    return {key: value.to(x.dtype) for key, value in given.items()}


def random_arguments(rng: np.random.Generator, name: str, x: Tensor) -> Arguments:
    """x with a drawn number, gains from U(0.5, 2) and shifts of both signs and at least 0.3.

    alpha stays away from 1; so do b, r, and softplus(r) from r², where a wrong b would be the right one.
    """
    shift = inputs.tensor(rng.uniform(0.3, 1.5, x.shape[-1]) * rng.choice([-1.0, 1.0], x.shape[-1]))
    number = rng.uniform(1.2, 1.9) if name == "alpha" else rng.uniform(1.6, 2.4)
    return arguments(name, float(number), x, inputs.gains(rng, x.shape[-1]), shift)


def features(rng: np.random.Generator, *shape: int) -> Tensor:
    """Features of both signs with sizes from 0.2 to 2, where both curves bend."""
    return inputs.tensor(rng.uniform(0.2, 2.0, shape) * rng.choice([-1.0, 1.0], shape))


def start_of(given: Arguments) -> float:
    """The alpha0 or b0 of a module that begins where these arguments are."""
    return float(given["alpha"]) if "alpha" in given else oracles.softplus(float(given["r"]))


def expected(given: Arguments) -> Array:
    """The right answer, from the arguments' own values."""
    x, gamma, beta = (inputs.exact(given[name]) for name in ("x", "gamma", "beta"))
    if "alpha" in given:
        return oracles.dyt_features(x, float(given["alpha"]), gamma, beta)
    return oracles.dyisru_features(x, oracles.softplus(float(given["r"])), gamma, beta)


@pytest.mark.graded("elementwise", points=0.5, catches=(*SQUASHING, "overflowing-tanh", "positive-alpha"))
def test_elementwise_dyt_curve(dyt: CurveCalls, rng: np.random.Generator) -> None:
    """The curve between zero and far out, bent early (alpha = 1.5), late (0.4) and upside down (-0.7)."""
    for x, alpha in ((x, alpha) for x in inputs.with_sister(rng, FAR_AND_NEAR) for alpha in (1.5, 0.4, -0.7)):
        given = arguments("alpha", alpha, inputs.tensor(x[None]))
        of = f"DyT(7)(x from {'' if x is FAR_AND_NEAR else 'about '}-1e4 to 1e4) with alpha = {alpha}"
        checks.close(dyt(given, alpha), expected(given), **tolerances.float32(2)._asdict(), of=of)


@pytest.mark.graded("elementwise", points=0.5, catches=(*SQUASHING, "gamma-inside-tanh", "beta-inside-tanh"))
def test_elementwise_dyt_scales_and_shifts(dyt: CurveCalls, rng: np.random.Generator) -> None:
    """Each feature has its own gain and its own shift, and both come after the curve."""
    given = random_arguments(rng, "alpha", features(rng, B, S, D))
    y = dyt(given, start_of(given))
    checks.close(y, expected(given), **tolerances.float32(4, 2.0)._asdict(), of="DyT(5)(x) with gamma and beta")


@pytest.mark.graded(
    "elementwise", points=0.5, catches=("vector-alpha", "constant-alpha", "hardcoded-alpha0", "default-alpha0")
)
def test_elementwise_dyt_learns_one_alpha(dyt: CurveCalls, rng: np.random.Generator) -> None:
    """alpha is one number that can be trained; it starts at alpha0, at 0.5 where none is given."""
    for values in inputs.with_sister(rng, BESIDE_ZERO):
        for start, begins in ((None, 0.5), (0.25, 0.25), (2.0, 2.0)):
            of = f"a fresh DyT(7{'' if start is None else f', {start}'})"
            what = text("checks", "elementwise_start", of=of, name="alpha", start=begins)
            if values is BESIDE_ZERO:
                _one_number(dyt.fresh(7, start), dyt, of)
            x = inputs.tensor(values)
            wanted = oracles.dyt_features(inputs.exact(x), begins, np.ones(7), np.zeros(7))
            checks.close(dyt({"x": x}, start), wanted, rtol=1e-4, atol=1e-7, of=of, what=what)


@pytest.mark.graded("elementwise", points=0.5, catches=("detached-alpha", *SQUASHING))
def test_elementwise_dyt_gradient(dyt: CurveCalls, rng: np.random.Generator) -> None:
    """Gradients reach x, alpha, gamma and beta and equal the closed form."""
    given = random_arguments(rng, "alpha", features(rng, B, S, D))
    upstream = inputs.tensor(rng.standard_normal((B, S, D)))
    found = dyt.gradients(given, start_of(given), upstream)
    known = {name: inputs.exact(value) for name, value in given.items()}
    wanted = oracles.dyt_gradients(**{**known, "alpha": float(given["alpha"])}, upstream=inputs.exact(upstream))
    _compare_gradients(found, wanted, of="DyT(5)(x)")


@pytest.mark.graded("elementwise", points=0.5, catches=(*ROOT, *POSITIVE, "large-floor"))
def test_elementwise_dyisru_curve(dyisru: CurveCalls, rng: np.random.Generator) -> None:
    """The curve between zero and far out, for r on both sides of zero; and for a b so small that a floor shows."""
    given = arguments("r", -9.0, inputs.tensor([[[-0.01, -0.002, 0.002, 0.01]]]))
    b = oracles.softplus(-9.0)
    # Anything between no floor and the largest one is right: 0.8 % of b, 0.4 % of y.
    wanted = oracles.sine(inputs.exact(given["x"]), b + FLOOR / 2)
    checks.close(dyisru(given, b), wanted, rtol=5e-3, atol=0.0, of="DyISRU(4)(a small x) with r = -9")
    for x, r in ((x, r) for x in inputs.with_sister(rng, FAR_AND_NEAR) for r in (3.0, 0.5, -1.0)):
        given = arguments("r", r, inputs.tensor(x[None]))
        of = f"DyISRU(7)(x from {'' if x is FAR_AND_NEAR else 'about '}-1e4 to 1e4) with r = {r}"
        tolerance = tolerances.float32(4)._asdict()
        checks.close(dyisru(given, start_of(given)), expected(given), **tolerance, of=of)


@pytest.mark.graded("elementwise", points=0.5, catches=(*ROOT, *POSITIVE))
def test_elementwise_dyisru_scales_and_shifts(dyisru: CurveCalls, rng: np.random.Generator) -> None:
    """Each feature has its own gain and its own shift, and both come after the curve."""
    given = random_arguments(rng, "r", features(rng, B, S, D))
    y = dyisru(given, start_of(given))
    checks.close(y, expected(given), **tolerances.float32(4, 2.0)._asdict(), of="DyISRU(5)(x) with gamma and beta")


@pytest.mark.graded(
    "elementwise",
    points=0.5,
    catches=("vector-r", "constant-b", "uninverted-b0", "wrong-inverse", "hardcoded-b0", "default-b0"),
)
def test_elementwise_dyisru_starts_at_b0(dyisru: CurveCalls, rng: np.random.Generator) -> None:
    """r is one number that can be trained; at the start b is b0, 4 where none is given: slope 1/2, as DyT has it."""
    for values in inputs.with_sister(rng, BESIDE_ZERO):
        for start, begins in ((0.1, 0.1), (1.5, 1.5), (30.0, 30.0), (None, 4.0)):
            of = f"a fresh DyISRU(7{'' if start is None else f', {start}'})"
            what = text("checks", "elementwise_start", of=of, name="b", start=begins)
            if values is BESIDE_ZERO:
                _one_number(dyisru.fresh(7, start), dyisru, of)
            x = inputs.tensor(values)
            wanted = oracles.sine(inputs.exact(x), begins)
            checks.close(dyisru({"x": x}, start), wanted, rtol=1e-4, atol=1e-7, of=of, what=what)


@pytest.mark.graded("elementwise", points=0.5, catches=("detached-b", "b-computed-once", *ROOT, *POSITIVE))
def test_elementwise_dyisru_gradient(dyisru: CurveCalls, rng: np.random.Generator) -> None:
    """Gradients reach x, r, gamma and beta and equal the closed form."""
    given = random_arguments(rng, "r", features(rng, B, S, D))
    upstream = inputs.tensor(rng.standard_normal((B, S, D)))
    found = dyisru.gradients(given, start_of(given), upstream)
    known = {name: inputs.exact(value) for name, value in given.items()}
    wanted = oracles.dyisru_gradients(**{**known, "r": float(given["r"])}, upstream=inputs.exact(upstream))
    _compare_gradients(found, wanted, of="DyISRU(5)(x)")


@pytest.mark.graded("elementwise", points=0.5, catches=("feature-reduction", *AFFINE))
def test_elementwise_features_apart(dyt: CurveCalls, dyisru: CurveCalls, rng: np.random.Generator) -> None:
    """Changing one feature changes that feature's output and no other's: nothing is summed over a token."""
    for curve in (dyt, dyisru):
        given = random_arguments(rng, curve.number, features(rng, B, S, D))
        moved = torch.zeros(B, S, D, dtype=torch.bool)
        moved[1, 2, 3] = True
        other = given | {"x": torch.where(moved, 40.0, given["x"])}
        of, start = f"{curve.of}(5)(x)", start_of(given)
        y, again, y_other = curve(given, start), curve(given, start), curve(other, start)
        tolerance = tolerances.float32(4, 2.0)._asdict()
        for output in (y, again, y_other):
            checks.shape(output, (B, S, D), of=of)
            checks.finite(output, of=of)
        repeats = checks.is_close(again, checks.values(y), **tolerance)
        changed = ~np.isclose(checks.values(y_other), checks.values(y), **tolerance) & ~moved.numpy()
        # A sum over a token changes all of its features; a single one may have come from another place.
        summed = "elementwise-feature-reduction" if repeats and changed.sum() > 1 else None
        leak = text("checks", "elementwise_leak", of=of)
        checks.require(not changed.any(), leak, outcome=Outcome.WRONG_VALUE, implies=summed)
        checks.close(y_other, expected(other), **tolerance, of=of)


@pytest.mark.graded(
    "elementwise",
    points=0.5,
    catches=(
        "uninitialised-parameter", "random-start", "zero-gamma", "ones-beta", "constant-affine", "extra-parameter"
    ),
)  # fmt: skip
def test_elementwise_fresh_parameters(dyt: CurveCalls, dyisru: CurveCalls) -> None:
    """gamma: [7] of ones, beta: [7] of zeros, both trained; the number is not drawn; and nothing beside the three."""
    for curve in (dyt, dyisru):
        fresh, of = curve.fresh(7), f"a fresh {curve.of}(7)"
        lacking = [role for role in ("gamma", "beta") if role not in fresh.roles]
        for role in lacking:
            headline = text("checks", "elementwise_lacks", of=of, role=role, found=fresh.listed)
            checks.require(False, headline, outcome=Outcome.WRONG_INTERFACE)
        beside = text("checks", "elementwise_beside", of=of, number=curve.number, found=fresh.listed)
        checks.require(len(fresh.values) <= 3, beside, outcome=Outcome.WRONG_INTERFACE)
        for role, start in (("gamma", 1.0), ("beta", 0.0)):
            value = fresh.values[fresh.roles[role]]
            checks.shape(value, (7,), of=f"{role} of {of}")
            _trained(fresh, role, of)
            begins = bool((value == start).all())
            shown = " ".join(f"{number:.4g}" for number in checks.values(value).tolist())
            headline = text("checks", "elementwise_affine", of=of, role=role, start=f"{start:g}", shown=shown)
            checks.require(begins, headline, outcome=Outcome.WRONG_VALUE)
        number = fresh.roles.get(curve.number, "")
        drawn = number in fresh.drawn or (number in fresh.values and bool(fresh.values[number].isnan().any()))
        headline = text("checks", "elementwise_drawn", of=of, role=curve.number)
        checks.require(not drawn, headline, outcome=Outcome.WRONG_VALUE)


@pytest.mark.graded("elementwise", points=0.5, catches=("rank-restricted",))
def test_elementwise_any_leading_axes(dyt: CurveCalls, dyisru: CurveCalls, rng: np.random.Generator) -> None:
    """[D], [S, D], [B, S, 2, D], and a transposed, non-contiguous x."""
    for curve in (dyt, dyisru):
        layouts = [features(rng, *shape) for shape in ((D,), (S, D), (B, S, 2, D))]
        for x in (*layouts, features(rng, B, S, D).transpose(0, 1)):
            given = random_arguments(rng, curve.number, x)
            of = f"{curve.of}(5)(x of shape {list(x.shape)}{'' if x.is_contiguous() else ', non-contiguous'})"
            tolerance = tolerances.float32(4, 2.0)._asdict()
            checks.close(curve(given, start_of(given)), expected(given), **tolerance, of=of)


@pytest.mark.graded("elementwise", points=0.5, catches=("wrong-dtype", "in-place"))
def test_elementwise_keeps_dtype_and_input(dyt: CurveCalls, dyisru: CurveCalls, rng: np.random.Generator) -> None:
    """The output has the input's dtype (half precision is compared loosely), and x is what it was before the call."""
    loose = tolerances.loose_half(tolerances.BFLOAT16_BITS, 2.0)._asdict()
    for curve in (dyt, dyisru):
        given = random_arguments(rng, curve.number, features(rng, B, S, D))
        of, start = f"{curve.of}(5)(x)", start_of(given)
        after = curve.arguments_after(given, start)
        for name, before in given.items():
            checks.unchanged(after[name], before, of=of, name=name)
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            of = f"{curve.of}(5)({str(dtype).removeprefix('torch.')} x)"
            y = curve({name: value.to(dtype) for name, value in given.items()}, start)
            checks.dtype(y, dtype, of=of)
            checks.close(y, expected(given), **loose, of=of)


def _one_number(fresh: FreshCurve, curve: CurveCalls, of: str) -> None:
    """The curve's number is there, is one number, and can be trained."""
    role = curve.number
    headline = text("checks", "elementwise_lacks", of=of, role=role, found=fresh.listed)
    checks.require(role in fresh.roles, headline, outcome=Outcome.WRONG_INTERFACE)
    shape = list(fresh.values[fresh.roles[role]].shape)
    headline = text("checks", "elementwise_one_number", of=of, role=role, shape=shape)
    vector = f"elementwise-vector-{role}" if shape == [7] else None
    checks.require(shape in ([], [1]), headline, outcome=Outcome.WRONG_SHAPE, implies=vector)
    _trained(fresh, role, of)


def _trained(fresh: FreshCurve, role: str, of: str) -> None:
    headline = text("checks", "elementwise_frozen", of=of, role=role)
    checks.require(fresh.roles[role] in fresh.trained, headline, outcome=Outcome.WRONG_INTERFACE)


def _compare_gradients(found: dict[str, Tensor], wanted: dict[str, Array], *, of: str) -> None:
    # Sums over all features or tokens, of terms up to 4 (upstream) times 2 (gain) times 2 (x).
    for name, gradient in wanted.items():
        tolerance = tolerances.float32(B * S * D, 8.0 if name in ("alpha", "r") else 4.0)
        checks.gradient(found, name, gradient, **tolerance._asdict(), of=of)
