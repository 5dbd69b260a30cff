"""Graded tests of `modules.py`: RMSNorm (14 points) and SwiGLU (12 points).

Each test looks for few mistakes and hides the others where it can: rows have mean zero unless centring is the question,
gains are ones unless the gain is, eps is small unless eps is.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nanolm import checks
from nanolm.fixtures.modules_file import RMSNormCalls, SwiGLUCalls
from nanolm.protocol import Outcome
from nanolm.texts import text
from tests import inputs, oracles, parameters, tolerances
from tests.inputs import B, D, F, S

EPS = 1e-6

# Mistakes that many tests catch, by what they get wrong.
SCALE = ("sum-not-mean", "missing-sqrt", "divides-by-rsqrt", "inverted-scale", "gamma-plus-one", "unbiased-variance")
AXES = ("wrong-axis", "all-axes")
GAIN = ("forgotten-gamma", "gamma-twice", "gamma-before-norm")
EPSILON = ("eps-outside-sqrt", "missing-eps", "hardcoded-eps", "clamped-denominator", "eps-squared")
CURVE = ("sigmoid-gate", "gelu-gate", "relu-gate")
BRANCHES = ("swapped-gate-up", "sum-not-product", "missing-gate")
VALUE = (*CURVE, *BRANCHES, "silu-after-product", "silu-both", "silu-on-output", "missing-down")


@pytest.mark.graded("rmsnorm", points=0.5, catches=("centering", "mean-absolute", *SCALE))
def test_rmsnorm_worked_example(rms_norm: RMSNormCalls, rng: np.random.Generator) -> None:
    """M6 §5: (2, -1, 3, 0) has RMS √3.5; then a row like it."""
    row = np.array([[[2.0, -1.0, 3.0, 0.0]]])
    y = rms_norm(inputs.tensor(row), inputs.ones(4), EPS)
    checks.close(y, row / 3.5**0.5, **tolerances.float32(4)._asdict(), of="RMSNorm(4)([2, -1, 3, 0])")
    other = inputs.tensor(inputs.near(rng, row))
    expected = oracles.rms_norm_rows(inputs.exact(other), np.ones(4), EPS)
    of = "RMSNorm(4)(a row like [2, -1, 3, 0])"
    checks.close(rms_norm(other, inputs.ones(4), EPS), expected, **tolerances.float32(4)._asdict(), of=of)


@pytest.mark.graded("rmsnorm", points=1.0, catches=("mean-absolute", *SCALE, *AXES))
def test_rmsnorm_produces_unit_rms(rms_norm: RMSNormCalls, rng: np.random.Generator) -> None:
    """With a gain of ones every token leaves with RMS 1, whatever its size was, and every feature keeps its sign."""
    x = inputs.centred_rows(rng, B, S, D)
    y = rms_norm(x, inputs.ones(D), EPS)
    checks.shape(y, (B, S, D), of="RMSNorm(5)(x)")
    checks.finite(y, of="RMSNorm(5)(x)")
    rms = torch.from_numpy(np.sqrt(np.mean(checks.values(y) ** 2, axis=-1)))
    # eps = 1e-6 under a mean square of at least 0.01 takes at most 5e-5 off.
    checks.close(rms, np.ones((B, S)), rtol=1e-4, atol=0.0, of="the RMS of each token of RMSNorm(5)(x)")
    kept = bool((np.sign(checks.values(y)) == np.sign(inputs.exact(x))).all())
    checks.require(kept, text("checks", "sign_lost", of="RMSNorm(5)(x)"), outcome=Outcome.WRONG_VALUE)


@pytest.mark.graded("rmsnorm", points=1.0, catches=("centering", *SCALE))
def test_rmsnorm_does_not_center(rms_norm: RMSNormCalls, rng: np.random.Generator) -> None:
    """Constant tokens of 4s and -4s become ones and minus ones, others too; subtracting the mean leaves zeros."""
    signs = np.array([[1.0], [-1.0]]) * np.ones((1, 2, D))
    for size in inputs.with_sister(rng, np.array(4.0)):
        of = f"RMSNorm(5)({'a token of 4s and one of -4s' if size == 4 else 'tokens of one number each'})"
        y = rms_norm(inputs.tensor(size * signs), inputs.ones(D), EPS)
        checks.shape(y, (1, 2, D), of=of)
        vanished = bool((np.abs(checks.values(y)) < 1e-2).all())
        checks.require(not vanished, text("checks", "constant_vanished", of=of), outcome=Outcome.WRONG_VALUE)
        checks.close(y, signs, rtol=1e-4, atol=0.0, of=of)


@pytest.mark.graded("rmsnorm", points=1.5, catches=("mean-absolute", *GAIN, *SCALE, *AXES))
def test_rmsnorm_scales_with_gamma(rms_norm: RMSNormCalls, rng: np.random.Generator) -> None:
    """Each feature of the output is gamma times what it is at a gain of ones."""
    x, gamma = inputs.centred_rows(rng, B, S, D), inputs.gains(rng, D)
    plain = rms_norm(x, inputs.ones(D), EPS)
    y = rms_norm(x, gamma, EPS)
    checks.shape(y, (B, S, D), of="RMSNorm(5)(x)")
    tolerance = tolerances.float32(D)._asdict()
    normalised, expected = (
        oracles.rms_norm_rows(inputs.exact(x), inputs.exact(gain), EPS) for gain in (inputs.ones(D), gamma)
    )
    # Zeros ignore the gain too: it was forgotten only where everything else is there.
    checks.require(
        not np.array_equal(checks.values(plain), checks.values(y)),
        text("checks", "gain_ignored"),
        outcome=Outcome.WRONG_VALUE,
        implies="rmsnorm-forgotten-gamma" if checks.is_close(plain, normalised, **tolerance) else None,
    )
    checks.close(y, expected, **tolerance, of="RMSNorm(5)(x) with a gain that is not ones")


@pytest.mark.graded("rmsnorm", points=1.0, catches=(*AXES, *SCALE))
def test_rmsnorm_treats_each_token_alone(rms_norm: RMSNormCalls, rng: np.random.Generator) -> None:
    """Changing one token changes that token's output and no other's."""
    x = inputs.centred_rows(rng, B, S, D)
    other = x.clone()
    other[0, 1] = inputs.centred_rows(rng, D) * 20
    y, y_other = rms_norm(x, inputs.ones(D), EPS), rms_norm(other, inputs.ones(D), EPS)
    for output in (y, y_other):
        checks.shape(output, (B, S, D), of="RMSNorm(5)(x)")
    moved = torch.zeros(B, S, dtype=torch.bool)
    moved[0, 1] = True
    checks.close(
        y_other[~moved],
        checks.values(y[~moved]),
        **tolerances.float32(D)._asdict(),
        of="RMSNorm(5)(x)",
        what=text("checks", "token_leak"),
    )
    expected = oracles.rms_norm_rows(inputs.exact(other[0, 1]), np.ones(D), EPS)
    checks.close(y_other[0, 1], expected, **tolerances.float32(D)._asdict(), of="the changed token of RMSNorm(5)(x)")


@pytest.mark.graded("rmsnorm", points=1.5, catches=("mean-absolute", *EPSILON, *SCALE, *AXES))
def test_rmsnorm_adds_eps_inside_the_root(rms_norm: RMSNormCalls, rng: np.random.Generator) -> None:
    """A large eps and a small x: where eps stands decides the result. A zero token stays zero."""
    eps = 1e-2
    x = inputs.centred_rows(rng, B, S, D) * 4e-3
    y = rms_norm(x, inputs.ones(D), eps)
    expected = oracles.rms_norm_rows(inputs.exact(x), np.ones(D), eps)
    checks.close(y, expected, **tolerances.float32(D, 0.1)._asdict(), of="RMSNorm(5, eps=0.01)(a small x)")
    zero = rms_norm(torch.zeros(1, 1, D), inputs.ones(D), eps)
    checks.close(zero, np.zeros((1, 1, D)), rtol=0.0, atol=0.0, of="RMSNorm(5, eps=0.01)(zeros)")


@pytest.mark.graded(
    "rmsnorm",
    points=0.5,
    catches=("default-eps", "missing-eps", "eps-outside-sqrt", "clamped-denominator", "eps-squared", *SCALE),
)
def test_rmsnorm_default_eps(rms_norm: RMSNormCalls, rng: np.random.Generator) -> None:
    """M6 §5: at an RMS of 1e-3, eps = 1e-6 gives 0.7071; then a row of about that size."""
    row = np.array([[[1e-3, -1e-3, 1e-3, -1e-3]]])
    y = rms_norm(inputs.tensor(row), inputs.ones(4))
    tolerance, of = tolerances.float32(4)._asdict(), "RMSNorm(4), built without eps, of"
    checks.close(y, row / 1e-3 * 0.5**0.5, **tolerance, of=f"{of} ±0.001")
    other = inputs.tensor(inputs.near(rng, 1e-3) * np.sign(row))  # of one size: whatever the axis, the RMS is that
    expected = oracles.rms_norm_rows(inputs.exact(other), np.ones(4), EPS)
    checks.close(rms_norm(other, inputs.ones(4)), expected, **tolerance, of=f"{of} a row near ±0.001")


@pytest.mark.graded("rmsnorm", points=1.0, catches=("low-precision", "late-widening", *SCALE, *AXES))
def test_rmsnorm_squares_in_float32(rms_norm: RMSNormCalls, rng: np.random.Generator) -> None:
    """float16 tokens of ±300 and ±1000, and some like them, whose squares are beyond float16 (65504)."""
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    x = inputs.tensor(np.stack([300 * signs, 1000 * signs])[None], torch.float16)
    of = "RMSNorm(4)(float16 tokens of ±300 and ±1000; 300² does not fit into float16)"
    y = rms_norm(x, inputs.ones(4, torch.float16), EPS)
    checks.close(y, np.stack([signs, signs])[None], rtol=2.0**-tolerances.FLOAT16_BITS, atol=0.0, of=of)
    other = inputs.tensor((inputs.near(rng, [[330.0], [1000.0]]) * signs)[None], torch.float16)
    y = rms_norm(other, inputs.ones(4, torch.float16), EPS)
    of = "RMSNorm(4)(float16 tokens of some ±300 and ±1000)"
    checks.close(y, np.stack([signs, signs])[None], rtol=2.0**-tolerances.FLOAT16_BITS, atol=0.0, of=of)


@pytest.mark.graded("rmsnorm", points=0.5, catches=("low-precision", *SCALE, *AXES))
def test_rmsnorm_precise_in_bfloat16(rms_norm: RMSNormCalls, rng: np.random.Generator) -> None:
    """bfloat16 tokens: one rounding at the end costs half a unit in the last place, rounding all the way more."""
    half = inputs.centred_rows(rng, 1, 64, 32).to(torch.bfloat16)
    x = torch.cat([half, -half], dim=-1)  # still of mean zero after rounding
    y = rms_norm(x, inputs.ones(64, torch.bfloat16), EPS)
    expected = oracles.rms_norm_rows(inputs.exact(x), np.ones(64), EPS)
    checks.within_ulps(
        y, expected, bits=tolerances.BFLOAT16_BITS, ulps=tolerances.HALF_ULPS, of="RMSNorm(64)(bfloat16 x)"
    )


@pytest.mark.graded("rmsnorm", points=1.0, catches=("wrong-dtype", *SCALE, *AXES))
def test_rmsnorm_keeps_the_dtype(rms_norm: RMSNormCalls, rng: np.random.Generator) -> None:
    """The output has the input's dtype: float16, bfloat16, float32 and float64."""
    x = inputs.centred_rows(rng, 1, S, D)
    expected = oracles.rms_norm_rows(inputs.exact(x), np.ones(D), EPS)
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        of = f"RMSNorm(5)({str(dtype).removeprefix('torch.')} x)"
        y = rms_norm(x.to(dtype), inputs.ones(D, dtype), EPS)
        checks.dtype(y, dtype, of=of)
        checks.close(y, expected, **tolerances.loose_half(tolerances.BFLOAT16_BITS)._asdict(), of=of)


@pytest.mark.graded("rmsnorm", points=1.5, catches=("detached-statistics", "centering", *GAIN, *SCALE, *AXES))
def test_rmsnorm_gradient(rms_norm: RMSNormCalls, rng: np.random.Generator) -> None:
    """Gradients reach x and gamma and equal the closed form; the statistic is part of the graph."""
    x, gamma = inputs.centred_rows(rng, B, S, D), inputs.gains(rng, D)
    upstream = inputs.tensor(rng.standard_normal((B, S, D)))
    gradients = rms_norm.gradients(x, gamma, EPS, upstream)
    expected = oracles.rms_norm_gradients(inputs.exact(x), inputs.exact(gamma), EPS, inputs.exact(upstream))
    for name, scale in (("x", 2.0), ("gamma", 4.0)):
        tolerance = tolerances.float32(B * S * D, scale)
        checks.gradient(gradients, name, expected[name], **tolerance._asdict(), of="RMSNorm(5)(x)")


@pytest.mark.graded("rmsnorm", points=1.0, catches=("rank-restricted", *SCALE, *AXES))
def test_rmsnorm_any_leading_axes(rms_norm: RMSNormCalls, rng: np.random.Generator) -> None:
    """[D], [S, D], [B, S, 2, D], and a transposed, non-contiguous x."""
    for shape in ((D,), (S, D), (B, S, 2, D)):
        _compare_layout(rms_norm, inputs.centred_rows(rng, *shape), f"RMSNorm(5)(x of shape {list(shape)})")
    strided = inputs.centred_rows(rng, B, S, D).transpose(0, 1)
    _compare_layout(rms_norm, strided, "RMSNorm(5)(a non-contiguous x)")


def _compare_layout(rms_norm: RMSNormCalls, x: torch.Tensor, of: str) -> None:
    expected = oracles.rms_norm_rows(inputs.exact(x), np.ones(D), EPS)
    checks.close(rms_norm(x, inputs.ones(D), EPS), expected, **tolerances.float32(D)._asdict(), of=of)


@pytest.mark.graded("rmsnorm", points=0.5, catches=("in-place",))
def test_rmsnorm_leaves_its_input_unchanged(rms_norm: RMSNormCalls, rng: np.random.Generator) -> None:
    """x is the residual stream: the block still needs it after the norm has read it."""
    x = inputs.centred_rows(rng, B, S, D)
    after = rms_norm.arguments_after(x, inputs.ones(D), EPS)
    checks.unchanged(after["x"], x, of="RMSNorm(5)(x)", name="x", implies="rmsnorm-in-place")
    expected = oracles.rms_norm_rows(inputs.exact(x), np.ones(D), EPS)
    checks.close(
        rms_norm(x, inputs.ones(D), EPS),
        expected,
        **tolerances.loose_half(tolerances.BFLOAT16_BITS)._asdict(),
        of="RMSNorm(5)(x)",
    )


@pytest.mark.graded("rmsnorm", points=0.5, catches=("extra-bias", "frozen-gamma"))
def test_rmsnorm_has_only_gamma(rms_norm: RMSNormCalls) -> None:
    """One parameter of shape [7], whatever its name, and a trainable one: no bias, no second gain."""
    parameters.gain_alone(rms_norm.fresh(7), 7)


@pytest.mark.graded("rmsnorm", points=0.5, catches=("uninitialised-gamma", "random-gamma", "zero-gamma"))
def test_rmsnorm_gamma_starts_at_ones(rms_norm: RMSNormCalls) -> None:
    """A fresh gain changes nothing: it is ones, not memory that nobody filled."""
    parameters.gain_of_ones(rms_norm.fresh(7), 7)


@pytest.mark.graded("rmsnorm", points=0.5, catches=("centering", *GAIN, *SCALE, *AXES, *EPSILON))
@given(seed=inputs.seeds, batch=inputs.lengths, length=inputs.lengths, width=inputs.widths)
def test_rmsnorm_law_of_scale(rms_norm: RMSNormCalls, seed: int, batch: int, length: int, width: int) -> None:
    """For every c > 0: norm(c·x, c²·eps) = norm(x, eps), and both equal the reference."""
    rng = np.random.default_rng(seed)
    x = inputs.tensor(rng.standard_normal((batch, length, width)) + rng.uniform(-2, 2))
    gamma = inputs.gains(rng, width)
    eps, c = float(10 ** rng.uniform(-6, -1)), float(2.0 ** rng.integers(-5, 5))
    expected = oracles.rms_norm_rows(inputs.exact(x), inputs.exact(gamma), eps)
    tolerance = tolerances.float32(width)._asdict()
    one = f"with D = {width}, eps = {eps:.2g}, x of shape {list(x.shape)}"
    checks.close(rms_norm(x, gamma, eps), expected, **tolerance, of="RMSNorm(D, eps)(x)", detail=one)
    other = f"{one}, c = {c:g}"
    checks.close(rms_norm(c * x, gamma, c * c * eps), expected, **tolerance, of="RMSNorm(D, c²·eps)(c·x)", detail=other)


@pytest.mark.graded("swiglu", points=0.5, catches=VALUE)
def test_swiglu_worked_numbers(swiglu: SwiGLUCalls, rng: np.random.Generator) -> None:
    """W6: gates (2, -2) let the same value 3 pass amplified in one channel and nearly shut it off in the other."""
    y = swiglu(**inputs.gate_and_up([[[2.0, -2.0]]], [[[3.0, 3.0]]]))
    # σ(2) = 0.88079708: 3·2·σ(2) and 3·(-2)·(1 − σ(2)).
    expected = [[[5.28478247, -0.71521753, 0.0, 0.0]]]
    checks.close(y, expected, **tolerances.float32(4)._asdict(), of="SwiGLU with gate (2, -2) and up (3, 3)")
    other = inputs.gate_and_up(*inputs.near(rng, [[[[2.0, -2.0]]], [[[3.0, 3.0]]]]))
    expected = oracles.gated_ffn(*(inputs.exact(value) for value in other.values()))
    of = "SwiGLU with gates near (2, -2) and ups near 3"
    checks.close(swiglu(**other), expected, **tolerances.float32(4)._asdict(), of=of)


@pytest.mark.graded("swiglu", points=1.0, catches=VALUE)
def test_swiglu_matches_the_formula(swiglu: SwiGLUCalls, rng: np.random.Generator) -> None:
    """Random maps, D and F different primes, three axes."""
    arguments = inputs.random_ffn(rng, B, S)
    expected = oracles.gated_ffn(*(inputs.exact(value) for value in arguments.values()))
    checks.close(swiglu(**arguments), expected, **tolerances.float32(D * F)._asdict(), of="SwiGLU(5, 7)(x)")


@pytest.mark.graded("swiglu", points=1.5, catches=(*BRANCHES, "silu-after-product", "missing-down"))
def test_swiglu_gate_shuts_the_channel(swiglu: SwiGLUCalls, rng: np.random.Generator) -> None:
    """A gate of -60 lets nothing through, whatever the up branch holds."""
    of = "SwiGLU with every gate at -60"
    for ups in inputs.with_sister(rng, np.array([[[-8.0, -1.0, 0.5, 2.0, 9.0]]])):
        y = swiglu(**inputs.gate_and_up(np.full((1, 1, 5), -60.0), ups))
        checks.close(y, np.zeros((1, 1, 10)), rtol=0.0, atol=1e-6, of=of, what=text("checks", "channel_open", of=of))


@pytest.mark.graded("swiglu", points=1.5, catches=(*CURVE, *BRANCHES, "silu-both", "silu-on-output", "missing-down"))
def test_swiglu_gate_is_silu(swiglu: SwiGLUCalls, rng: np.random.Generator) -> None:
    """Up at ones shows the gate's own curve at points where SiLU, GELU, ReLU and the sigmoid part."""
    points = np.array([[[-4.0, -1.0, -0.25, 0.25, 1.0, 4.0]]])
    for z in inputs.with_sister(rng, points):
        of = "up at ones" if z is points else "up at ones and other gates"
        arguments = inputs.gate_and_up(z, np.ones_like(z))
        exact = inputs.exact(arguments["x"])[..., : z.size]
        expected = np.concatenate([exact * oracles.logistic(exact), np.zeros_like(z)], axis=-1)
        checks.close(swiglu(**arguments), expected, **tolerances.float32(6)._asdict(), of=f"SwiGLU with {of}")


@pytest.mark.graded(
    "swiglu",
    points=1.0,
    catches=("swapped-gate-up", "sum-not-product", "silu-after-product", "silu-both", "silu-on-output", "missing-down"),
)
def test_swiglu_is_linear_in_up(swiglu: SwiGLUCalls, rng: np.random.Generator) -> None:
    """Doubling w_up and turning its sign does the same to the output: the branches are multiplied, up is not curved."""
    arguments = inputs.random_ffn(rng, B, S)
    y = swiglu(**arguments)
    turned = swiglu(**{**arguments, "w_up": -2 * arguments["w_up"]})
    checks.shape(y, (B, S, D), of="SwiGLU(5, 7)(x)")
    still = bool((np.abs(checks.values(y)) < 1e-6).all())
    checks.require(not still, text("checks", "all_zero", of="SwiGLU(5, 7)(x)"), outcome=Outcome.WRONG_VALUE)
    of = "SwiGLU(5, 7)(x) with w_up times -2"
    checks.close(
        turned,
        -2 * checks.values(y),
        **tolerances.float32(D * F)._asdict(),
        of=of,
        what=text("checks", "not_linear", of=of),
    )


@pytest.mark.graded("swiglu", points=1.0, catches=("missing-down",))
def test_swiglu_projects_back_to_d(swiglu: SwiGLUCalls, rng: np.random.Generator) -> None:
    """The output has width D, and swapping two rows of w_down swaps two features of it."""
    arguments = inputs.random_ffn(rng, B, S)
    y = swiglu(**arguments)
    checks.shape(y, (B, S, D), of="SwiGLU(5, 7)(x)")
    order = [1, 0, *range(2, D)]
    swapped = swiglu(**{**arguments, "w_down": arguments["w_down"][order]})
    of = "SwiGLU(5, 7)(x) with two rows of w_down swapped"
    checks.close(
        swapped,
        checks.values(y)[..., order],
        **tolerances.float32(F)._asdict(),
        of=of,
        what=text("checks", "down_ignored", of=of),
    )


@pytest.mark.graded("swiglu", points=1.5, catches=("biased-linear", "rounded-width", "frozen-maps"))
def test_swiglu_has_three_bias_free_maps(swiglu: SwiGLUCalls) -> None:
    """w_gate and w_up: [F, D], w_down: [D, F], no bias, the width as it was given."""
    parameters.three_maps(swiglu.fresh, 6, 13)


@pytest.mark.graded("swiglu", points=1.0, catches=("overflowing-sigmoid", *VALUE))
def test_swiglu_survives_large_gates(swiglu: SwiGLUCalls, rng: np.random.Generator) -> None:
    """|z| up to 1e4 in float32: value and gradient are finite and right (e^89 is beyond float32)."""
    z = np.array([[[-1e4, -500.0, -100.0, -89.0, -5.0, 5.0, 89.0, 100.0, 500.0, 1e4]]])
    arguments = inputs.gate_and_up(z, np.ones_like(z))
    of = "SwiGLU with gates from -1e4 to 1e4"
    exact = [inputs.exact(value) for value in arguments.values()]
    wanted, tolerance = oracles.gated_ffn(*exact), tolerances.float32(10)._asdict()
    y = swiglu(**arguments)
    checks.shape(y, wanted.shape, of=of)
    small = np.abs(z[0, 0]) <= 5
    # An overflow spares the small gates; what is not finite there as well has another cause.
    overflow = "swiglu-overflowing-sigmoid"
    spared = checks.is_close(y[..., : z.size][..., small], wanted[..., : z.size][..., small], **tolerance)
    checks.finite(y, of=of, implies=overflow if spared else None)
    checks.close(y, wanted, **tolerances.float32(1)._asdict(), of=of)
    upstream = np.concatenate([np.ones_like(z), np.zeros_like(z)], axis=-1)
    gradients = swiglu.gradients(**arguments, upstream=inputs.tensor(upstream))
    expected = oracles.gated_ffn_gradients(*exact, upstream)["x"]
    spared = "x" in gradients and checks.is_close(
        gradients["x"][..., : z.size][..., small], expected[..., : z.size][..., small], **tolerance
    )
    implied = overflow if spared else None
    checks.gradient(gradients, "x", expected, **tolerance, of=of, implies_not_finite=implied)
    z = inputs.near(rng, [[[-8e3, -600.0, -112.0, -5.0, 5.0, 112.0, 600.0, 8e3]]])
    arguments = inputs.gate_and_up(z, np.ones_like(z))
    wanted = oracles.gated_ffn(*(inputs.exact(value) for value in arguments.values()))
    checks.close(swiglu(**arguments), wanted, **tolerances.float32(1)._asdict(), of="SwiGLU with other gates as large")


@pytest.mark.graded("swiglu", points=1.5, catches=VALUE)
def test_swiglu_gradient(swiglu: SwiGLUCalls, rng: np.random.Generator) -> None:
    """Gradients reach x and all three maps and equal the closed form."""
    arguments = inputs.random_ffn(rng, B, S)
    upstream = inputs.tensor(rng.standard_normal((B, S, D)))
    gradients = swiglu.gradients(**arguments, upstream=upstream)
    exact = [inputs.exact(value) for value in (*arguments.values(), upstream)]
    for name, expected in oracles.gated_ffn_gradients(*exact).items():
        tolerance = tolerances.float32(D * F)
        checks.gradient(gradients, name, expected, **tolerance._asdict(), of="SwiGLU(5, 7)(x)")


@pytest.mark.graded("swiglu", points=0.5, catches=("rank-restricted", *VALUE))
@given(seed=inputs.seeds, leading=st.sampled_from([(), (S,), (B, S), (B, S, 2)]), turned=st.booleans())
def test_swiglu_any_leading_axes(swiglu: SwiGLUCalls, seed: int, leading: tuple[int, ...], turned: bool) -> None:
    """[D], [S, D], [B, S, D], [B, S, 2, D]; contiguous or not."""
    arguments = inputs.random_ffn(np.random.default_rng(seed), *leading)
    if turned and len(leading) > 1:
        arguments["x"] = arguments["x"].transpose(0, 1)
    expected = oracles.gated_ffn(*(inputs.exact(value) for value in arguments.values()))
    detail = f"with x of shape {list(arguments['x'].shape)}"
    checks.close(
        swiglu(**arguments), expected, **tolerances.float32(D * F)._asdict(), of="SwiGLU(5, 7)(x)", detail=detail
    )


@pytest.mark.graded("swiglu", points=0.5, catches=VALUE)
def test_swiglu_keeps_the_dtype(swiglu: SwiGLUCalls, rng: np.random.Generator) -> None:
    """The output has the input's dtype; half precision is compared loosely."""
    arguments = inputs.random_ffn(rng, 1, S)
    expected = oracles.gated_ffn(*(inputs.exact(value) for value in arguments.values()))
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        of = f"SwiGLU(5, 7)({str(dtype).removeprefix('torch.')} x)"
        y = swiglu(**{name: value.to(dtype) for name, value in arguments.items()})
        checks.dtype(y, dtype, of=of)
        checks.close(y, expected, **tolerances.loose_half(tolerances.BFLOAT16_BITS)._asdict(), of=of)


@pytest.mark.graded("swiglu", points=0.5, catches=VALUE)
def test_swiglu_leaves_its_input_unchanged(swiglu: SwiGLUCalls, rng: np.random.Generator) -> None:
    """Neither x nor the maps are changed by a call."""
    arguments = inputs.random_ffn(rng, B, S)
    after = swiglu.arguments_after(**arguments)
    for name, before in arguments.items():
        checks.unchanged(after[name], before, of="SwiGLU(5, 7)(x)", name=name)
    expected = oracles.gated_ffn(*(inputs.exact(value) for value in arguments.values()))
    checks.close(
        swiglu(**arguments), expected, **tolerances.loose_half(tolerances.BFLOAT16_BITS)._asdict(), of="SwiGLU(5, 7)(x)"
    )
