"""Graded tests of `gpt_oss.py`, 8 points: the packed projection and the clamped SwiGLU of gpt-oss.

Where packing is not the question there is one pair a token (F = 1), which halves and interleaved pairs pack alike.
Where the curve is not the question, results of the student's own are compared. Each fixed example has a drawn sister,
on the same side of every limit: what only remembers the example fails.
At the published limit of 7 a gate clamped on both sides differs by less than 4e-4 from the right one, so clamps are
tested at a limit of 1 as well. A derivative exactly at a limit is a convention; no test asks for it.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nanolm import checks
from nanolm.fixtures.gpt_oss_file import ClampedSwiGLUCalls, SplitCalls
from nanolm.protocol import Outcome
from nanolm.texts import text
from tests import inputs, tolerances
from tests import oracles_gpt_oss as oracles
from tests.inputs import B, F, S
from tests.inputs_gpt_oss import around, interleaved, one_pair_a_token

ALPHA, LIMIT = 1.702, 7.0
NAMES = ("the gate of split_gate_up", "the up branch of split_gate_up", "clamped_swiglu")

# Mistakes that many tests catch, by what they get wrong.
PACKING = ("contiguous-halves", "swapped-gate-up", "wrong-axis")
CURVE = ("alpha-one", "alpha-twice", "hardcoded-alpha", "gelu-gate", "sigmoid-gate")
SHIFT = ("missing-plus-one", "shifted-gate")
ABOVE = ("unclamped-gate", "gate-clamped-below", "clamp-after-activation", "soft-clamp")
SIGMOIDS = ("clamp-in-sigmoid-only", "clamp-outside-sigmoid-only")
UP = ("unclamped-up", "up-clamped-above-only", "up-clamped-below-only", "shift-before-clamp")


def product(packed: torch.Tensor, alpha: float = ALPHA, limit: float = LIMIT) -> oracles.Array:
    """The oracle on the tensor's own values."""
    return oracles.bounded_product(features=inputs.exact(packed), slope=alpha, bound=limit)


def size(limit: float) -> dict[str, float]:
    """The tolerance where gates and shifted up values reach a limit: their product is what rounding is relative to."""
    return tolerances.float32(4, max(1.0, limit))._asdict()


def row(y: torch.Tensor, tokens: int, of: str) -> torch.Tensor:
    """The outputs of so many tokens of one pair each, as a row."""
    checks.shape(y, (1, tokens, 1), of=of)
    return y.reshape(-1)


def varied(y: torch.Tensor, of: str) -> None:
    """Finite, and not the same number everywhere: a law that compares results must not be met by a constant."""
    checks.finite(y, of=of)
    differs = bool(np.ptp(checks.values(y)) > 1e-3)
    checks.require(differs, text("checks", "gpt_oss_constant", of=of), outcome=Outcome.WRONG_VALUE)


def gated(y: torch.Tensor, of: str) -> None:
    """Of a row of outputs, the first of a gate far below zero: nothing beside the others, which differ."""
    varied(y, of)
    largest = float(np.abs(checks.values(y)).max())
    what = text("checks", "channel_open", of=of)
    checks.close(y[:1], np.zeros(1), rtol=0.0, atol=1e-3 * largest, of=of, what=what)


def bounded(y: torch.Tensor, of: str) -> None:
    """Of a row of outputs, the first of a value inside the limit, the next of one just at it, the others beyond it."""
    varied(y[:2], of)
    what = text("checks", "gpt_oss_beyond", of=of)
    checks.close(y[1:], np.full(len(y) - 1, float(y[1])), **size(1.0), of=of, what=what)


@pytest.mark.graded("gpt_oss", points=0.5, catches=("wrong-axis",))
def test_gpt_oss_split_worked_numbers(split_gate_up: SplitCalls, rng: np.random.Generator) -> None:
    """(10, 20, 11, 21, 12, 22) holds the gates (10, 11, 12) and the up values (20, 21, 22); M6 §15; and drawn rows."""
    rows = np.array([[[10.0, 20.0, 11.0, 21.0, 12.0, 22.0], [-1.0, 5.0, -2.0, 6.0, -3.0, 7.0]]])
    gate = np.array([[[10.0, 11.0, 12.0], [-1.0, -2.0, -3.0]]])
    up = np.array([[[20.0, 21.0, 22.0], [5.0, 6.0, 7.0]]])
    for values in inputs.with_sister(rng, rows):
        packed, worked = inputs.tensor(values), values is rows
        wanted_gate, wanted_up = (gate, up) if worked else oracles.paired(features=inputs.exact(packed))
        found_gate, found_up = split_gate_up(packed)
        of = f"of split_gate_up({'' if worked else 'a row like '}(10, 20, 11, 21, 12, 22), and another token)"
        checks.close(found_gate, wanted_gate, rtol=0.0, atol=1e-4, of=f"the gate {of}")
        checks.close(found_up, wanted_up, rtol=0.0, atol=1e-4, of=f"the up branch {of}")


@pytest.mark.graded("gpt_oss", points=1.0, catches=PACKING)
def test_gpt_oss_both_functions_read_pairs(
    split_gate_up: SplitCalls, clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator
) -> None:
    """Each gate multiplies the up value that stands next to it: F pairs give what each of them gives alone."""
    packed = inputs.tensor(rng.uniform(0.2, 3.0, (B, S, 2 * F)))
    found_gate, found_up = split_gate_up(packed)
    wanted_gate, wanted_up = oracles.paired(features=inputs.exact(packed))
    checks.close(found_gate, wanted_gate, **size(3.0), of="the gate of split_gate_up(packed)")
    checks.close(found_up, wanted_up, **size(3.0), of="the up branch of split_gate_up(packed)")
    alone = clamped_swiglu(one_pair_a_token(wanted_gate.ravel(), wanted_up.ravel()), ALPHA, LIMIT)
    checks.shape(alone, (1, B * S * F, 1), of="clamped_swiglu(42 tokens of one pair)")
    checks.finite(alone, of="clamped_swiglu(42 tokens of one pair)")
    y, of = clamped_swiglu(packed, ALPHA, LIMIT), "clamped_swiglu(packed)"
    what = text("checks", "gpt_oss_alone", of=of)
    checks.close(y, checks.values(alone).reshape(B, S, F), **size(LIMIT), of=of, what=what)
    gated(row(clamped_swiglu(one_pair_a_token([-60.0, 3.0, 2.0], [3.0, -6.0, 1.5]), ALPHA, LIMIT), 3, of), of)


@pytest.mark.graded(
    "gpt_oss",
    points=0.5,
    catches=("symmetric-gate-clamp", "unclamped-gate", "unclamped-up", "plain-swiglu", "alpha-one", *SHIFT),
)
def test_gpt_oss_worked_slice(clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator) -> None:
    """Gate and up both at -9, 0, 7 and 9: a small positive number, zero, and twice the plateau near 56 (M6 §9)."""
    z, tolerance = np.array([-9.0, 0.0, 7.0, 9.0]), {"rtol": 2e-6, "atol": 5e-6}
    of = "clamped_swiglu(gate and up both at -9, 0, 7 and 9)"
    # -9·σ(-15.318)·(-7 + 1) and 7·σ(11.914)·(7 + 1).
    expected = [[[1.2018e-5], [0.0], [55.999625], [55.999625]]]
    checks.close(clamped_swiglu(one_pair_a_token(z, z), ALPHA, LIMIT), expected, **tolerance, of=of)
    z = inputs.near(rng, [-11.5, 0.0, 5.5, 9.0])  # at -9 and below it hardly matters how up is clamped
    packed, of = one_pair_a_token(z, z), "clamped_swiglu(gate and up alike, at 0, inside the limit and beyond it)"
    checks.close(clamped_swiglu(packed, ALPHA, LIMIT), product(packed), **tolerance, of=of)


@pytest.mark.graded("gpt_oss", points=0.5, catches=CURVE)
def test_gpt_oss_gate_curve(clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator) -> None:
    """Up at zero shows the gate's own curve, at the published alpha and at two others."""
    z = np.array([-6.0, -2.0, -1.0, -0.25, 0.25, 1.0, 2.0, 6.0])
    for gates in inputs.then(z, lambda: inputs.near(rng, 0.9 * z)):  # inside the limit too
        packed = one_pair_a_token(gates, 0.0)
        shown = "gates from -6 to 6" if gates is z else "other gates inside the limit"
        for alpha in (ALPHA, 0.4, 3.0):
            of = f"clamped_swiglu({shown} with up = 0, alpha={alpha:g}, limit=7)"
            checks.close(clamped_swiglu(packed, alpha, LIMIT), product(packed, alpha), **size(1.0), of=of)


@pytest.mark.graded("gpt_oss", points=0.5, catches=(*SHIFT, "plain-swiglu"))
def test_gpt_oss_up_is_shifted_by_one(clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator) -> None:
    """An up value of -1 shuts the channel, 0 lets the gate's curve through, 1 doubles it: whatever the gate is."""
    z = rng.uniform(0.5, 4.0, 5) * np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    of = "clamped_swiglu(packed, 1.702, 7)"
    shut, plain, doubled = (clamped_swiglu(one_pair_a_token(z, up), ALPHA, LIMIT) for up in (-1.0, 0.0, 1.0))
    checks.shape(plain, (1, 5, 1), of=of)
    checks.finite(plain, of=of)
    still = bool((np.abs(checks.values(plain)) < 1e-4).all())
    checks.require(not still, text("checks", "all_zero", of=of), outcome=Outcome.WRONG_VALUE)
    what = text("checks", "gpt_oss_shut", of=of)
    checks.close(shut, np.zeros((1, 5, 1)), rtol=0.0, atol=1e-6, of=of, what=what)
    what = text("checks", "gpt_oss_doubled", of=of)
    checks.close(doubled, 2 * checks.values(plain), **size(LIMIT), of=of, what=what)


@pytest.mark.graded("gpt_oss", points=0.5, catches=(*ABOVE, *SIGMOIDS, "hardcoded-limit"))
def test_gpt_oss_gate_is_clamped_above(clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator) -> None:
    """Every gate beyond the limit, 1e4 too, gives what a gate just at it gives; smaller gates give something else."""
    for limit in (1.0, 2.0):
        for up in (0.75, -0.4):
            packed = one_pair_a_token([0.3 * limit, limit, 1.2 * limit, 1.6 * limit, 9 * limit, 1e4], up)
            of = f"clamped_swiglu(gates from {0.3 * limit:g} to 1e4 with up = {up:g}, 1.702, {limit:g})"
            bounded(row(clamped_swiglu(packed, ALPHA, limit), 6, of), of)
    for limit in (1.0, 2.0):
        for up in (0.75, -0.4):
            inside, *excess, far = inputs.near(rng, [0.3, 0.2, 0.6, 8.0, 1e4])
            gates = [inside * limit, limit, *((1 + part) * limit for part in excess), far]
            of = f"clamped_swiglu(a gate inside the limit, one at it, others beyond it, 1.702, {limit:g})"
            packed = one_pair_a_token(gates, inputs.near(rng, up))
            bounded(row(clamped_swiglu(packed, ALPHA, limit), 6, of), of)


@pytest.mark.graded("gpt_oss", points=0.5, catches=("symmetric-gate-clamp", "gate-clamped-below"))
def test_gpt_oss_gate_is_not_clamped_below(clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator) -> None:
    """Gates far below -limit keep their own, vanishing, factor: the clamp has one side (M6 §9)."""
    for far in (-25.0, -1e4):
        of = f"clamped_swiglu(gates of {far:g}, 0.9 and -0.9 with up = 0.75, 1.702, 1)"
        gated(row(clamped_swiglu(one_pair_a_token([far, 0.9, -0.9], 0.75), ALPHA, 1.0), 3, of), of)
    for far in (-25.0, -1e4):
        packed = one_pair_a_token(inputs.near(rng, [far, 0.75, -0.75]), inputs.near(rng, 0.75))
        of = "clamped_swiglu(a gate far below zero and two inside the limit, 1.702, 1)"
        gated(row(clamped_swiglu(packed, ALPHA, 1.0), 3, of), of)


@pytest.mark.graded("gpt_oss", points=0.5, catches=(*UP, "hardcoded-limit"))
def test_gpt_oss_up_is_clamped_on_both_sides(clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator) -> None:
    """Every up value beyond a limit, ±1e4 too, gives what one just at that limit gives, above and below."""
    worked = np.array([0.6, 0.2, 4.0, 1e4])
    for values in inputs.with_sister(rng, worked):
        gate, excess, times, far = values
        shown = "gates of 0.6" if values is worked else "equal gates"
        for limit in (1.0, 3.0):
            ups = np.array([0.0, limit, (1 + excess) * limit, times * limit, far])
            of = f"clamped_swiglu({shown} with up values of up to 1e4 in size, 1.702, {limit:g})"
            for side in (ups, -ups):
                bounded(row(clamped_swiglu(one_pair_a_token(gate, side), ALPHA, limit), 5, of), of)


@pytest.mark.graded(
    "gpt_oss",
    points=0.5,
    catches=(
        *("contiguous-halves", "wrong-axis", "symmetric-gate-clamp", "plain-swiglu", "clamped-output"),
        *(*CURVE, *SHIFT, *ABOVE, *UP),
    ),
)
def test_gpt_oss_matches_the_formula(clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator) -> None:
    """Random branches inside and beyond the limit, in every combination, for drawn alphas and limits."""
    for limit in (rng.uniform(0.6, 1.2), rng.uniform(1.5, 3.0), LIMIT):
        packed, alpha = around(rng, B, S, 2 * F, limit=limit), float(rng.uniform(0.4, 0.8))
        y = clamped_swiglu(packed, alpha, float(limit))
        detail = f"with alpha = {alpha:.3g}, limit = {limit:.3g}"
        of = "clamped_swiglu(packed, alpha, limit)"
        checks.close(y, product(packed, alpha, limit), **size(limit), of=of, detail=detail)


@pytest.mark.graded("gpt_oss", points=0.5, catches=("default-alpha", "default-limit"))
def test_gpt_oss_defaults(clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator) -> None:
    """alpha is 1.702 and limit is 7 where nobody says otherwise (M6 §15)."""
    points = [-2.0, -1.0, 1.0, 2.0, 5.5, 9.0, 20.0]
    for z in inputs.then(np.array([-2.0, -1.0, 1.0, 2.0, 6.5, 9.0, 20.0]), lambda: inputs.near(rng, points)):
        packed = one_pair_a_token(z, z[::-1])
        y = clamped_swiglu(packed)
        checks.close(y, product(packed), **size(LIMIT), of="clamped_swiglu(packed), alpha and limit not given")
        y = clamped_swiglu(packed, 0.5)
        checks.close(y, product(packed, 0.5), **size(LIMIT), of="clamped_swiglu(packed, 0.5), limit not given")


@pytest.mark.graded("gpt_oss", points=0.5, catches=("detached-sigmoid", *PACKING, *CURVE, *SHIFT))
def test_gpt_oss_gradient(
    split_gate_up: SplitCalls, clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator
) -> None:
    """Gradients reach `packed` through both functions; all values lie inside the limit."""
    packed = inputs.tensor(rng.uniform(-2.5, 2.5, (B, S, 2 * F)))
    upstream, other = (inputs.tensor(rng.uniform(0.5, 2.0, (B, S, F))) for _ in range(2))
    found = split_gate_up.gradients(packed, upstream, other)
    wanted = inputs.exact(interleaved(inputs.exact(upstream), inputs.exact(other)))
    checks.gradient(found, "packed", wanted, **size(1.0), of="split_gate_up(packed)")
    found = clamped_swiglu.gradients(packed, 0.8, LIMIT, upstream=upstream)
    wanted = oracles.bounded_product_gradient(
        features=inputs.exact(packed), slope=0.8, bound=LIMIT, upstream=inputs.exact(upstream)
    )
    checks.gradient(found, "packed", wanted, **size(LIMIT), of="clamped_swiglu(packed, 0.8, 7)")


@pytest.mark.graded(
    "gpt_oss",
    points=0.5,
    catches=("straight-through-clamp", "symmetric-gate-clamp", "hardcoded-limit", *SIGMOIDS, *ABOVE, *UP),
)
def test_gpt_oss_gradient_beyond_the_limit(clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator) -> None:
    """Zero where a clamp holds, and not zero for a gate below -limit; limits of 1, where all shows, and of 7."""
    for limit in (1.0, LIMIT):
        spots = np.array([-2.5, -1.3, -0.6, 0.6, 1.3, 2.5])
        packed = one_pair_a_token(limit * np.repeat(spots, 6), limit * np.tile(spots, 6))
        upstream = inputs.tensor(rng.uniform(0.5, 2.0, (1, 36, 1)))
        found = clamped_swiglu.gradients(packed, ALPHA, limit, upstream=upstream)
        wanted = oracles.bounded_product_gradient(
            features=inputs.exact(packed), slope=ALPHA, bound=limit, upstream=inputs.exact(upstream)
        )
        of = f"clamped_swiglu(pairs inside and beyond the limit, 1.702, {limit:g})"
        checks.gradient(found, "packed", wanted, **size(2 * limit), of=of)


@pytest.mark.graded("gpt_oss", points=0.5, catches=("rank-restricted", "contiguous-only", "wrong-axis"))
def test_gpt_oss_any_leading_axes(
    split_gate_up: SplitCalls, clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator
) -> None:
    """[2F], [S, 2F], [B, S, 2F], [B, S, 2, 2F]; from a transpose; features that are every second of a wider tensor."""
    rows = inputs.tensor(rng.uniform(-2.0, 2.0, (1, 2 * B * S, 2 * F)))

    def both(packed: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return *split_gate_up(packed), clamped_swiglu(packed)

    plain = both(rows)
    for y, name in zip(plain, NAMES, strict=True):
        checks.shape(y, (1, 2 * B * S, F), of=f"{name}(packed of shape {list(rows.shape)})")
        varied(y, name)
    wider = torch.stack([rows, torch.zeros_like(rows)], dim=-1).flatten(-2)
    for packed, arrange in (
        (rows[0, 0], lambda y: y[0, 0]),
        (rows[0], lambda y: y[0]),
        (rows.reshape(B, S, 2, 2 * F), lambda y: y.reshape(B, S, 2, F)),
        (rows.reshape(B, 2 * S, 2 * F).transpose(0, 1), lambda y: y.reshape(B, 2 * S, F).swapaxes(0, 1)),
        (wider[..., ::2], lambda y: y),
    ):
        stands = "" if packed.is_contiguous() else ", not contiguous"
        for y, expected, name in zip(both(packed), plain, NAMES, strict=True):
            of = f"{name}(packed of shape {list(packed.shape)}{stands})"
            what = text("checks", "gpt_oss_layout", of=of)
            checks.close(y, arrange(checks.values(expected)), **size(2.0), of=of, what=what)


@pytest.mark.graded("gpt_oss", points=0.5, catches=("wrong-dtype",))
def test_gpt_oss_keeps_the_dtype(
    split_gate_up: SplitCalls, clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator
) -> None:
    """Both functions return their input's dtype; half precision is compared loosely with float32."""
    gates = np.concatenate([[-60.0], rng.uniform(-2.5, 2.5, 10)])
    drawn = one_pair_a_token(gates, rng.uniform(-2.0, 2.0, 11), torch.bfloat16).float()  # exact in every dtype
    loose = tolerances.loose_half(tolerances.BFLOAT16_BITS, 2.0)._asdict()
    plain = clamped_swiglu(drawn, ALPHA, LIMIT)
    gated(row(plain, 11, "clamped_swiglu(float32 input)"), "clamped_swiglu(float32 input)")
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        packed, of = drawn.to(dtype), f"({str(dtype).removeprefix('torch.')} input)"
        wanted = (*oracles.paired(features=inputs.exact(packed)), checks.values(plain))
        found = (*split_gate_up(packed), clamped_swiglu(packed, ALPHA, LIMIT))
        for y, expected, name in zip(found, wanted, NAMES, strict=True):
            checks.dtype(y, dtype, of=f"{name}{of}")
            checks.close(y, expected, **loose, of=f"{name}{of}")


@pytest.mark.graded("gpt_oss", points=0.5, catches=("in-place",))
def test_gpt_oss_leaves_its_input_unchanged(
    split_gate_up: SplitCalls, clamped_swiglu: ClampedSwiGLUCalls, rng: np.random.Generator
) -> None:
    """`packed` is what it was, clamped values included: its views are not the activation's scratch paper."""
    packed = around(rng, B, S, 2 * F, limit=1.0)
    in_place = "gpt_oss-in-place"
    after = split_gate_up.arguments_after(packed)
    checks.unchanged(after["packed"], packed, of="split_gate_up(packed)", name="packed", implies=in_place)
    of = "clamped_swiglu(packed, 1.702, 1)"
    after = clamped_swiglu.arguments_after(packed, ALPHA, 1.0)
    checks.unchanged(after["packed"], packed, of=of, name="packed", implies=in_place)
    for gates, up in (([-60.0, 0.6, -0.6], 0.5), (inputs.near(rng, [-60.0, 0.6, -0.6]), inputs.near(rng, 0.5))):
        gated(row(clamped_swiglu(one_pair_a_token(gates, up), ALPHA, 1.0), 3, of), of)
