"""Graded tests of `block.py`: placement (10 points).

Callables are never the identity, never alike, and never commute. Maps of single numbers make a whole block something to
follow by hand; elsewhere they are curved, so that nothing can be regrouped.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from nanolm import checks
from nanolm.fixtures.block_file import ScaleCalls, StepCalls, Steps, Use
from nanolm.protocol import Outcome
from nanolm.texts import text
from tests import inputs_block as inputs
from tests import oracles_block as oracles
from tests import tolerances
from tests.inputs import exact, tensor
from tests.inputs_block import B, D, S, known

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
PLACEMENTS = ("none", "pre", "post")

# Mistakes that are made in any of the steps: only tests of all four can be sure to catch them.
STREAM = ("normalized-residual", "forgotten-residual", "stale-residual", "doubled-residual", "normalized-sum")
ORDER = ("parallel-branches", "ffn-reads-update", "swapped-sublayers", "swapped-norms", "argument-order")
ABSENT = ("missing-first-norm", "missing-second-norm", "missing-output-norm", "missing-input-norm", "shared-norm")
OTHERS = ("post-for-pre", "output-for-pre", "pre-for-post", "output-for-post", "pre-for-output")
VALUES = (*STREAM, *ORDER, *ABSENT, *OTHERS)

# Mistakes of forward_scale that show in any measurement.
READING = ("norm-not-rms", "scale-before-step", "scale-before-norm")
MEASURED = (*READING, "transposed-weight", "misplaced-unit", "scale-without-residual")


def follows_the_chain(step: StepCalls, expected: float, rng: np.random.Generator) -> None:
    """Through affine maps of single numbers, from x = 1 to the number expected, and among numbers drawn near these."""
    ends_at(step, inputs.chain(step.name), [expected], f"x = 1, {_maps(step.name)}")
    drawn = inputs.near_chain(rng, step.name)
    ends_at(
        step, drawn, oracles.run(step.name, known(drawn), oracles.straight), "x near 1, other maps of single numbers"
    )


def ends_at(step: StepCalls, numbers: Mapping[str, Tensor], expected: ArrayLike, of: str) -> None:
    """What affine maps make of x; a failure tells what each callable was handed."""
    y, uses = step.with_uses(numbers, straight=True)
    shown = "; ".join(text("checks", "placement_given", name=name, given=given(use)) for name, use in uses.items())
    checks.close(y, expected, **tolerances.float32(4)._asdict(), of=f"{step.name}({of})", detail=shown)


def matches_the_program(step: StepCalls, arguments: Mapping[str, Tensor], of: str) -> None:
    """The float64 result, for callables that are curved."""
    expected = oracles.run(step.name, known(arguments))
    checks.close(step(arguments), expected, **tolerances.float32(D, 4.0)._asdict(), of=f"{step.name}({of}, …)")


def given(use: Use) -> str:
    """What a callable was handed, call by call."""
    return ", ".join(use.given) if use.calls else text("checks", "placement_never")


def _maps(step: str) -> str:
    maps = ((name, f"{slope:g}x" if slope != 1 else "x", constant) for name, (slope, constant) in _chain(step))
    return ", ".join(f"{name} = {scaled}{f'{constant:+g}' if constant else ''}" for name, scaled, constant in maps)


def _chain(step: str) -> list[tuple[str, tuple[float, float]]]:
    return list(inputs.CHAINS[step].items())


@pytest.mark.graded("placement", points=0.5, catches=("post-for-pre", "output-for-pre"))
def test_placement_pre_norm_follows_a_number(steps: Steps, rng: np.random.Generator) -> None:
    """Single numbers through a pre-norm block."""
    follows_the_chain(steps.pre, 366, rng)


@pytest.mark.graded("placement", points=0.5, catches=("pre-for-post", "output-for-post"))
def test_placement_post_norm_follows_a_number(steps: Steps, rng: np.random.Generator) -> None:
    """Single numbers through a post-norm block."""
    follows_the_chain(steps.post, 314, rng)


@pytest.mark.graded("placement", points=0.5, catches=("missing-input-norm",))
def test_placement_peri_norm_follows_a_number(steps: Steps, rng: np.random.Generator) -> None:
    """Single numbers through a Peri-LN block."""
    follows_the_chain(steps.peri, 731, rng)


@pytest.mark.graded("placement", points=0.5, catches=("pre-for-output",))
def test_placement_output_norm_follows_a_number(steps: Steps, rng: np.random.Generator) -> None:
    """Single numbers through an output-norm block."""
    follows_the_chain(steps.output, 267, rng)


@pytest.mark.graded("placement", points=0.5, catches=("post-for-pre", "output-for-pre"))
def test_placement_pre_norm_with_curved_sublayers(steps: Steps, rng: np.random.Generator) -> None:
    """A pre-norm block of callables that are not linear."""
    matches_the_program(steps.pre, inputs.block(rng, steps.pre.name, B, S), f"x [{B}, {S}, {D}]")


@pytest.mark.graded("placement", points=0.5, catches=("pre-for-post", "output-for-post"))
def test_placement_post_norm_with_curved_sublayers(steps: Steps, rng: np.random.Generator) -> None:
    """A post-norm block of callables that are not linear."""
    matches_the_program(steps.post, inputs.block(rng, steps.post.name, B, S), f"x [{B}, {S}, {D}]")


@pytest.mark.graded("placement", points=0.5, catches=("missing-input-norm",))
def test_placement_peri_norm_with_curved_sublayers(steps: Steps, rng: np.random.Generator) -> None:
    """A Peri-LN block of callables that are not linear."""
    matches_the_program(steps.peri, inputs.block(rng, steps.peri.name, B, S), f"x [{B}, {S}, {D}]")


@pytest.mark.graded("placement", points=0.5, catches=("pre-for-output",))
def test_placement_output_norm_with_curved_sublayers(steps: Steps, rng: np.random.Generator) -> None:
    """An output-norm block of callables that are not linear."""
    matches_the_program(steps.output, inputs.block(rng, steps.output.name, B, S), f"x [{B}, {S}, {D}]")


@pytest.mark.graded("placement", points=0.5, catches=("doubled-residual", *OTHERS))
def test_placement_silent_sublayers_leave_the_residual_path(steps: Steps, rng: np.random.Generator) -> None:
    """W6: with sublayers that return zero, only post-norm still does something to x that depends on x."""
    for step in steps.all:
        arguments = inputs.silenced(inputs.block(rng, step.name, B, S), "attn", "ffn")
        matches_the_program(step, arguments, f"x [{B}, {S}, {D}], sublayers that return zero")


@pytest.mark.graded("placement", points=1.0, catches=("repeated-call", "shared-norm", "missing-second-norm"))
def test_placement_calls_each_callable_once(steps: Steps, rng: np.random.Generator) -> None:
    """A sublayer is most of what a block costs: a second call pays for it twice. What is left out is never called."""
    for start, numbers in (("x = 1", inputs.chain), ("x near 1", partial(inputs.near_chain, rng))):
        for step in steps.all:
            once_each(step, numbers(step.name), f"{step.name}({start}, …)")


def once_each(step: StepCalls, numbers: Mapping[str, Tensor], of: str) -> None:
    """No callable is left out or called again."""
    uses = step.with_uses(numbers, straight=True)[1]
    counts = {name: use.calls for name, use in uses.items()}
    for name, use in uses.items():
        checks.require(
            use.calls == 1,
            text("checks", "placement_calls", of=of, name=name, count=use.calls),
            numbers="" if not use.calls else text("checks", "placement_given", name=name, given=given(use)),
            outcome=Outcome.WRONG_INTERFACE,
            implies=_told_by(counts),
        )


def _told_by(counts: Mapping[str, int]) -> str | None:
    """The mistake that the numbers of calls alone give away."""
    never = {name for name, count in counts.items() if not count}
    if not never:
        return "placement-repeated-call"
    return "placement-missing-second-norm" if never == {"norm2"} and max(counts.values()) == 1 else None


@pytest.mark.graded("placement", points=1.0, catches=(*VALUES, "detached-step"))
def test_placement_gradients(steps: Steps, rng: np.random.Generator) -> None:
    """Gradients reach x and the numbers of every callable, along both paths of both updates."""
    for step in steps.all:
        arguments = inputs.block(rng, step.name, B, S)
        upstream = tensor(rng.standard_normal((B, S, D)))
        found = step.gradients(arguments, upstream)
        of, tolerance = f"{step.name}(x [{B}, {S}, {D}], …)", tolerances.float32(B * S * D, 2.0)._asdict()
        for name, expected in oracles.gradients(step.name, known(arguments), exact(upstream)).items():
            checks.gradient(found, name, expected, **tolerance, of=of)


@pytest.mark.graded("placement", points=0.5, catches=("rank-restricted", "indexed-output"))
def test_placement_any_leading_axes(steps: Steps, rng: np.random.Generator) -> None:
    """x: [D], [S, D], [B, S, D] and four axes, contiguous or not."""
    for step in steps.all:
        for leading in ((), (S,), (B, S), (2, 3, 2)):
            arguments = inputs.block(rng, step.name, *leading)
            if len(leading) > 1:
                arguments["x"] = arguments["x"].transpose(0, 1)
            matches_the_program(step, arguments, f"x of shape {list(arguments['x'].shape)}")


@pytest.mark.graded("placement", points=0.5, catches=("wrong-dtype",))
def test_placement_keeps_the_dtype(steps: Steps, forward_scale: ScaleCalls, rng: np.random.Generator) -> None:
    """Outputs, and what the callables are handed, have the input's dtype; half precision is compared loosely."""
    tolerance = tolerances.loose_half(tolerances.BFLOAT16_BITS, 4.0)._asdict()
    for step in steps.all:
        arguments = inputs.block(rng, step.name, S)
        expected = oracles.run(step.name, known(arguments))
        for dtype in DTYPES:
            wanted = str(dtype).removeprefix("torch.")
            of = f"{step.name}({wanted} input)"
            y, uses = step.with_uses({name: value.to(dtype) for name, value in arguments.items()})
            checks.dtype(y, dtype, of=of)
            for name, use in uses.items():
                other = ", ".join(sorted({handed for handed in use.dtypes if handed != wanted}))
                words = text("checks", "placement_dtype", of=of, name=name, got=other, expected=wanted)
                checks.require(not other, words, outcome=Outcome.WRONG_DTYPE)
            checks.close(y, expected, **tolerance, of=of)
    h0, weights = inputs.stack(rng)
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        for placement in PLACEMENTS:
            of = f"forward_scale({str(dtype).removeprefix('torch.')} input, {placement!r})"
            y = forward_scale(h0.to(dtype), weights.to(dtype), placement)
            checks.dtype(y, dtype, of=of)
            checks.close(y, oracles.stream_scales(exact(h0), exact(weights))[placement], **tolerance, of=of)


@pytest.mark.graded("placement", points=0.5, catches=("in-place",))
def test_placement_leaves_its_input_unchanged(
    steps: Steps, forward_scale: ScaleCalls, rng: np.random.Generator
) -> None:
    """The stream of the caller is not written to, by a step or by a measurement."""
    for step in steps.all:
        arguments = inputs.block(rng, step.name, B, S)
        after = step.arguments_after(arguments)
        for name, before in arguments.items():
            checks.unchanged(after[name], before, of=f"{step.name}(…)", name=name)
        matches_the_program(step, arguments, f"x [{B}, {S}, {D}]")
    h0, weights = inputs.stack(rng)
    for placement in PLACEMENTS:
        after = forward_scale.arguments_after(h0, weights, placement)
        for name, before in (("h0", h0), ("weights", weights)):
            checks.unchanged(after[name], before, of=f"forward_scale(…, {placement!r})", name=name)


@pytest.mark.graded("placement", points=0.5, catches=(*MEASURED, "last-only"))
def test_placement_forward_scale_of_the_course(forward_scale: ScaleCalls, rng: np.random.Generator) -> None:
    """M6 §6: 36 layers of width 256 from seed 5; the last entries as the course prints them, and a few digits more."""
    found = forward_scale.of_the_course()
    for placement, last in (("none", 412442.09423078835), ("pre", 6.423482855953835), ("post", 1.0)):
        of = f"forward_scale(256 features, 36 matrices, {placement!r})"
        checks.shape(found[placement], (36,), of=of)
        checks.close(found[placement][-1], last, **_float64(), of=f"the last entry of {of}")
    h0, weights = inputs.course_like(rng)
    for placement, scales in oracles.stream_scales(exact(h0), exact(weights)).items():
        of = f"forward_scale(16 features, 9 random matrices, {placement!r})"
        y = forward_scale(h0, weights, placement)
        checks.shape(y, scales.shape, of=of)
        checks.close(y[-1], scales[-1], **_float64(), of=f"the last entry of {of}")


@pytest.mark.graded("placement", points=0.5, catches=(*MEASURED, "centering", "low-precision"))
def test_placement_forward_scale_after_each_step(forward_scale: ScaleCalls, rng: np.random.Generator) -> None:
    """Every entry, for matrices that are not symmetric and lie in memory as a transpose does; in float64 throughout."""
    for depth in (4, 1):
        h0, weights = inputs.stack(rng, depth=depth)
        weights = weights.transpose(1, 2)
        expected = oracles.stream_scales(exact(h0), exact(weights))
        for placement in PLACEMENTS:
            of = f"forward_scale(7 features, {depth} matrices, {placement!r})"
            checks.close(forward_scale(h0, weights, placement), expected[placement], **_float64(), of=of)


@pytest.mark.graded("placement", points=0.5, catches=("added-epsilon", "wrong-floor", "missing-floor"))
def test_placement_forward_scale_has_a_floor(forward_scale: ScaleCalls, rng: np.random.Generator) -> None:
    """A stream of RMS 0.3e-12 is divided by the floor, a stream of zeros stays one, where U is used at all."""
    h0, weights = inputs.vanishing(rng)
    expected = oracles.stream_scales(exact(h0), exact(weights))
    for placement in PLACEMENTS:
        of = f"forward_scale(a stream of RMS 0.3e-12, 2 matrices, {placement!r})"
        checks.close(forward_scale(h0, weights, placement), expected[placement], rtol=1e-6, atol=1e-30, of=of)
        of = f"forward_scale(a stream of zeros, 2 matrices, {placement!r})"
        checks.close(forward_scale(0 * h0, weights, placement), [0.0, 0.0], rtol=0.0, atol=0.0, of=of)


@pytest.mark.graded("placement", points=0.5, catches=("missing-validation", "wrong-exception"))
def test_placement_forward_scale_refuses_another_placement(forward_scale: ScaleCalls, rng: np.random.Generator) -> None:
    """A placement that there is not is a ValueError; the three that there are give numbers."""
    h0, weights = inputs.stack(rng)
    for placement in ("peri", "pre_norm", ""):
        of, implies = f"forward_scale(…, {placement!r})", "placement-missing-validation"
        checks.raises(lambda p=placement: forward_scale(h0, weights, p), "ValueError", of=of, implies=implies)
    for placement in PLACEMENTS:
        checks.finite(forward_scale(h0, weights, placement), of=f"forward_scale(…, {placement!r})")


def _float64() -> dict[str, float]:
    return tolerances.Tolerance(rtol=1e-10, atol=0.0)._asdict()
