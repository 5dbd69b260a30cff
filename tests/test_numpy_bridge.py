"""Graded tests of `numpy_bridge.py` (10 points): two norms, four activations and a gated product, in NumPy.

Where one thing is the question the others are hidden: rows have mean zero unless centring is the question, eps is small
unless eps is, activations are compared far out only where their formulas agree. Each fixed example has a drawn sister
that hides and shows the same: what only remembers the example fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from nanolm import checks
from nanolm.fixtures.numpy_bridge_file import Functions
from nanolm.protocol import Outcome
from nanolm.texts import text
from tests import inputs, tolerances
from tests import inputs_numpy_bridge as given
from tests import oracles_numpy_bridge as oracles
from tests.inputs import B, D, S, tensor

EPS = 1e-6

# Mistakes that many tests catch, by what they get wrong.
SCALE = ("sum-not-mean", "missing-sqrt", "unbiased-variance")
CENTRE = ("centering", "missing-centering", "variance-not-mean-square")
BRANCHES = ("swapped-gate-up", "sigmoid-gate")
CLAMPS = (
    *("symmetric-gate-clamp", "unclamped-gate", "unclamped-up", "up-clamped-above-only", "clamp-after-activation"),
    *("shift-before-clamp", "swapped-limits", "hardcoded-limit"),
)


def dtype_name(dtype: torch.dtype) -> str:
    """`float32`, as messages name it."""
    return str(dtype).removeprefix("torch.")


@pytest.mark.graded("numpy_bridge", points=0.5, catches=(*CENTRE, *SCALE))
def test_numpy_bridge_norms_worked_numbers(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """M6 §5: (2, -1, 3, 0) has mean 1, variance 2.5 and RMS √3.5; and a drawn row like it."""
    row = np.array([[2.0, -1.0, 3.0, 0.0]])
    tolerance = tolerances.float32(4)._asdict()
    y = numpy_bridge.rms_norm(tensor(row))
    checks.close(y, row / (3.5 + EPS) ** 0.5, **tolerance, of="rms_norm([2, -1, 3, 0])")
    y = numpy_bridge.layer_norm(tensor(row))
    checks.close(y, (row - 1) / (2.5 + EPS) ** 0.5, **tolerance, of="layer_norm([2, -1, 3, 0])")
    x = tensor(inputs.near(rng, row))
    y = numpy_bridge.rms_norm(x)
    checks.close(y, oracles.rms_rows(rows=x), **tolerance, of="rms_norm(a row like [2, -1, 3, 0])")
    y = numpy_bridge.layer_norm(x)
    checks.close(y, oracles.layer_rows(rows=x), **tolerance, of="layer_norm(a row like [2, -1, 3, 0])")


@pytest.mark.graded(
    "numpy_bridge", points=0.5, catches=("wrong-axis", "all-axes", "forgotten-gamma", "forgotten-beta", *SCALE)
)
def test_numpy_bridge_norms_match_the_formula(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """Random rows of different sizes, with and without gamma and beta."""
    arguments = given.norm_arguments(rng, B, S)
    x, gamma, beta = arguments.values()
    x = 16 * x  # eps does not show
    for gain in (None, gamma):
        of = f"rms_norm(x{', gamma' if gain is not None else ''})"
        y = numpy_bridge.rms_norm(x, gain, EPS)
        checks.close(y, oracles.rms_rows(rows=x, gain=gain), **tolerances.float32(D)._asdict(), of=of)
    for gain, shift in product((None, gamma), (None, beta)):
        names = "".join(f", {name}" for name, v in (("gamma", gain), ("beta", shift)) if v is not None)
        y = numpy_bridge.layer_norm(x, gain, shift, EPS)
        expected = oracles.layer_rows(rows=x, gain=gain, shift=shift)
        checks.close(y, expected, **tolerances.float32(D)._asdict(), of=f"layer_norm(x{names})")


@pytest.mark.graded("numpy_bridge", points=0.5, catches=CENTRE)
def test_numpy_bridge_norms_of_constant_rows(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """Constant rows of 4s and of -4s: rms_norm gives ones and minus ones, layer_norm leaves nothing but beta."""
    signs = np.array([[1.0], [-1.0]]) * np.ones((1, 2, D))
    beta = np.array([0.5, -1.0, 2.0, -3.0, 1.5])
    shown_as = "a row of one number and one of its opposite"
    for size, shift, shown in inputs.then(
        (4.0, tensor(beta), "a row of 4s and one of -4s"),
        lambda: (given.short_constant(rng), tensor(inputs.near(rng, beta)), shown_as),
    ):
        x, of = tensor(size * signs), f"rms_norm({shown})"
        y = numpy_bridge.rms_norm(x)
        checks.shape(y, (1, 2, D), of=of)
        vanished = bool((np.abs(checks.values(y)) < 1e-2).all())
        headline = text("checks", "constant_vanished", of=of)
        checks.require(not vanished, headline, outcome=Outcome.WRONG_VALUE)
        checks.close(y, signs, rtol=1e-4, atol=0.0, of=of)
        y = numpy_bridge.layer_norm(x, inputs.ones(D), shift)
        expected = np.broadcast_to(inputs.exact(shift), (1, 2, D))
        checks.close(y, expected, rtol=1e-4, atol=1e-4, of=f"layer_norm({shown}, ones, beta)")


@pytest.mark.graded(
    "numpy_bridge",
    points=0.5,
    catches=("eps-outside-sqrt", "missing-eps", "hardcoded-eps", "default-eps", "clamped-denominator", "missing-sqrt"),
)
def test_numpy_bridge_norms_add_eps_inside_the_root(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """Rows of ±0.004 at eps = 0.01, of ±0.001 at the default eps, and zeros: where eps stands decides."""
    for x, eps, expected, of in _eps_cases(rng):
        for name, norm in (("rms_norm", numpy_bridge.rms_norm), ("layer_norm", numpy_bridge.layer_norm)):
            y = norm(x, eps=eps)
            checks.close(y, expected, **tolerances.float32(4, 0.1)._asdict(), of=f"{name}({of})")


def _eps_cases(rng: np.random.Generator) -> Iterator[tuple[Tensor, float | None, ArrayLike, str]]:
    """Rows, eps, what comes out and what it is called: worked ones first, then drawn ones."""
    worked: tuple[tuple[float, float | None, float], ...] = (
        (4e-3, 1e-2, 4e-3 / 0.010016**0.5),
        (1e-3, None, 0.5**0.5),
        (0.0, 1e-2, 0.0),
    )
    for size, eps, result in worked:
        yield tensor([size * given.SIGNS]), eps, [result * given.SIGNS], f"a row of ±{size:g}, eps={named(eps)}"
    for size, eps, _ in worked:
        x, drawn = tensor([inputs.near(rng, size) * given.SIGNS]), None if eps is None else float(inputs.near(rng, eps))
        like = f"about {named(eps)}" if eps else named(eps)
        expected = oracles.rms_rows(rows=x, eps=drawn or EPS)  # layer_norm's too: the mean is zero
        yield x, drawn, expected, f"a row like ±{size:g}, eps={like}"


def named(eps: float | None) -> str:
    """An eps, as messages name it."""
    return "not given" if eps is None else f"{eps:g}"


@pytest.mark.graded("numpy_bridge", points=0.5, catches=("low-precision",))
def test_numpy_bridge_norms_square_in_float32(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """float16 rows of ±300 and ±1000, and rows like them: the squares are beyond float16 (65504)."""
    rows = np.stack([300 * given.SIGNS, 1000 * given.SIGNS])
    half = 2.0**-tolerances.FLOAT16_BITS
    for values in inputs.then(rows, lambda: given.opposite_pairs(rng, 340.0, 1000.0)):
        x, worked = tensor(values, torch.float16), values is rows
        expected = np.sign(rows) if worked else oracles.rms_rows(rows=x)  # layer_norm's too: the mean is zero
        shown = f"{'of' if worked else 'like'} ±300 and ±1000"
        for name, norm in (("rms_norm", numpy_bridge.rms_norm), ("layer_norm", numpy_bridge.layer_norm)):
            of = f"{name}(float16 rows {shown})"
            y = norm(x, inputs.ones(4, torch.float16))
            what = text("checks", "half_overflow", of=of)
            checks.close(y, expected, rtol=half, atol=0.0, of=of, what=what)


@pytest.mark.graded("numpy_bridge", points=0.5, catches=("float64-output",))
def test_numpy_bridge_norms_keep_the_dtype(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """Both norms return the dtype of x, with parameters of that dtype and without."""
    arguments = given.norm_arguments(rng, 1, S)
    loose = tolerances.loose_half(tolerances.FLOAT16_BITS, 2.0)._asdict()
    for dtype in given.DTYPES:
        x, gamma, beta = given.in_dtype(arguments, dtype).values()
        name = dtype_name(dtype)
        for y, of, expected in (
            (numpy_bridge.rms_norm(x), f"rms_norm({name} x)", oracles.rms_rows(rows=x)),
            (numpy_bridge.rms_norm(x, gamma), f"rms_norm({name} x, gamma)", oracles.rms_rows(rows=x, gain=gamma)),
            (numpy_bridge.layer_norm(x), f"layer_norm({name} x)", oracles.layer_rows(rows=x)),
            (
                numpy_bridge.layer_norm(x, gamma, beta),
                f"layer_norm({name} x, gamma, beta)",
                oracles.layer_rows(rows=x, gain=gamma, shift=beta),
            ),
        ):
            checks.dtype(y, dtype, of=of)
            checks.close(y, expected, **loose, of=of)


@pytest.mark.graded("numpy_bridge", points=0.5, catches=("narrowed-float64",))
def test_numpy_bridge_norms_keep_float64s_precision(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """float64 rows are worked in float64: both norms are right to twelve digits, where eps is too small to matter."""
    x = given.large_centred_rows(rng, B, S, D)
    exact = {"rtol": tolerances.FLOAT64, "atol": tolerances.FLOAT64}
    y = numpy_bridge.rms_norm(x)
    checks.close(y, oracles.rms_rows(rows=x), **exact, of="rms_norm(float64 x)")
    y = numpy_bridge.layer_norm(x)
    checks.close(y, oracles.layer_rows(rows=x), **exact, of="layer_norm(float64 x)")


@pytest.mark.graded("numpy_bridge", points=0.5, catches=("missing-validation", "wrong-exception"))
def test_numpy_bridge_norms_refuse_what_they_cannot_normalise(
    numpy_bridge: Functions, rng: np.random.Generator
) -> None:
    """No last axis or an empty one, NaN and infinity, an eps that is no positive number, a gamma not of shape [D]."""
    x, unchecked = tensor(np.stack([given.SIGNS, 2 * given.SIGNS])), "numpy_bridge-missing-validation"
    for name, norm in (("rms_norm", numpy_bridge.rms_norm), ("layer_norm", numpy_bridge.layer_norm)):
        checks.close(norm(x), np.stack([given.SIGNS] * 2), rtol=1e-4, atol=0.0, of=f"{name}(x)")
        drawn = tensor(given.opposite_pairs(rng, 1.0, 2.0))
        checks.close(norm(drawn), oracles.rms_rows(rows=drawn), rtol=1e-4, atol=0.0, of=f"{name}(x)")
        for of, rows in (
            ("a 0-d array", tensor(3.0)),
            ("an array of shape [3, 0]", torch.zeros(3, 0)),
            ("a row with NaN", tensor([[1.0, np.nan]])),
            ("a row with infinity", tensor([[1.0, -np.inf]])),
        ):
            checks.raises(lambda norm=norm, rows=rows: norm(rows), "ValueError", of=f"{name}({of})", implies=unchecked)
        for eps in (0.0, -1e-3, float("nan"), float("inf")):
            of = f"{name}(x, eps={eps:g})"
            checks.raises(lambda norm=norm, eps=eps: norm(x, eps=eps), "ValueError", of=of, implies=unchecked)
        parameters = ("gamma", "beta") if name == "layer_norm" else ("gamma",)
        for parameter, shape in product(parameters, ((1,), (2, 4), (3,))):
            values = {parameter: torch.ones(shape)}
            of = f"{name}(x of shape [2, 4], {parameter} of shape {list(shape)})"
            checks.raises(lambda n=norm, v=values: n(x, **v), "ValueError", of=of, implies=unchecked)


@pytest.mark.graded("numpy_bridge", points=0.5, catches=("missing-factor", "wrong-factor", "narrowed-activation"))
def test_numpy_bridge_sigmoids_match_the_formula(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """stable_sigmoid, silu and gelu_sigmoid between -8 and 8: to 1e-12 in float64, and in float32 (M6 §8)."""
    z = np.concatenate([given.NEAR, rng.uniform(-8.0, 8.0, 10)])
    for name in ("stable_sigmoid", "silu", "gelu_sigmoid"):
        activation = numpy_bridge.activations[name]
        for dtype in (torch.float64, torch.float32):
            points = tensor(z, dtype)
            of = f"{name}({dtype_name(dtype)} z from -8 to 8)"
            checks.close(activation({"z": points}), oracles.curve(name=name, at=points), **near(dtype)._asdict(), of=of)


@pytest.mark.graded("numpy_bridge", points=1.0, catches=("tanh-gelu", "sigmoid-gelu", "coarse-erf"))
def test_numpy_bridge_gelu_is_exact(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """Φ(1) = 0.841344746068543 and random points between -8 and 8, to 1e-12 in float64; in float32 too (M6 §8)."""
    gelu = numpy_bridge.activations["gelu"]
    y = gelu({"z": tensor([1.0, -1.0], torch.float64)})
    atol = tolerances.FLOAT64
    checks.close(y, [0.8413447460685429, -0.15865525393145707], rtol=0.0, atol=atol, of="gelu(float64 (1, -1))")
    z = np.concatenate([given.NEAR, rng.uniform(-8.0, 8.0, 10)])
    for dtype in (torch.float64, torch.float32):
        points = tensor(z, dtype)
        of = f"gelu({dtype_name(dtype)} z from -8 to 8)"
        checks.close(gelu({"z": points}), oracles.curve(name="gelu", at=points), **near(dtype)._asdict(), of=of)


def near(dtype: torch.dtype) -> tolerances.Tolerance:
    """What the contract asks for in float64, and what rounding costs in the other dtypes, for results up to 8."""
    if dtype == torch.float64:
        return tolerances.Tolerance(rtol=tolerances.FLOAT64_UNITS, atol=tolerances.FLOAT64)
    return tolerances.float32(4) if dtype == torch.float32 else tolerances.loose_half(tolerances.FLOAT16_BITS)


@pytest.mark.graded("numpy_bridge", points=1.0, catches=("overflowing-sigmoid", "clipped-input"))
def test_numpy_bridge_activations_survive_large_inputs(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """±12 to ±10000 in float16, float32 and float64: finite and right; a warning of NumPy costs nothing."""
    far = np.abs(given.FAR) > 12
    for z in inputs.then(given.FAR, lambda: inputs.near(rng, given.AROUND_FAR)):
        for (name, activation), dtype in product(numpy_bridge.activations.items(), given.DTYPES):
            points = tensor(z, dtype)
            of = f"{name}({dtype_name(dtype)} z from -1e4 to 1e4)"
            y = activation({"z": points})
            checks.shape(y, given.FAR.shape, of=of)
            # An overflow spares the nearest points; what is not finite there as well has another cause.
            spared = bool(np.isfinite(checks.values(y)[~far]).all()) or dtype == torch.float16
            checks.finite(y, of=of, implies="numpy_bridge-overflowing-sigmoid" if spared else None)
            checks.close(y, oracles.curve(name=name, at=points), **near(dtype)._asdict(), of=of)
        for alpha in (1.0, 1.702):
            points = tensor(z)
            of = f"swiglu(gates from -1e4 to 1e4, ones, alpha={alpha:g})"
            y = numpy_bridge.swiglu(points, torch.ones_like(points), alpha=alpha)
            expected = oracles.gated(gate=points, linear=torch.ones_like(points), slope=alpha)
            checks.close(y, expected, **near(torch.float32)._asdict(), of=of)


@pytest.mark.graded("numpy_bridge", points=0.5, catches=(*BRANCHES, "ignored-alpha", "ignored-shift"))
def test_numpy_bridge_swiglu_matches_the_formula(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """Random branches, plain and with alpha and shift_up; nothing is clamped."""
    gate, up = (tensor(rng.uniform(-4.0, 4.0, (S, D))) for _ in range(2))
    tolerance = tolerances.float32(4, 4.0)._asdict()
    y = numpy_bridge.swiglu(gate, up)
    checks.close(y, oracles.gated(gate=gate, linear=up), **tolerance, of="swiglu(gate, up)")
    for alpha, shift in ((1.702, 1.0), (0.5, -0.75)):
        y = numpy_bridge.swiglu(gate, up, alpha=alpha, shift_up=shift)
        expected = oracles.gated(gate=gate, linear=up, slope=alpha, offset=shift)
        checks.close(y, expected, **tolerance, of=f"swiglu(gate, up, alpha={alpha:g}, shift_up={shift:g})")


@pytest.mark.graded("numpy_bridge", points=1.0, catches=CLAMPS)
def test_numpy_bridge_swiglu_clamps_each_branch_its_way(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """Gates and ups on both sides of small limits and of gpt-oss's 7 (M6 §9); one limit alone clamps one branch."""
    for branches, shown in inputs.then(
        (given.grid(), "gates and ups from -9 to 9"),
        lambda: (given.grid(*(inputs.near(rng, given.GATES) for _ in range(2))), "gates and ups like those"),
    ):
        for gate_limit, up_limit in ((1.0, 2.0), (7.0, 7.0), (1.0, None), (None, 2.0)):
            options = {"gate_limit": gate_limit, "up_limit": up_limit}
            of = f"swiglu({shown}, alpha=1.702, gate_limit={gate_limit}, up_limit={up_limit}, shift_up=1)"
            y = numpy_bridge.swiglu(**branches, alpha=1.702, shift_up=1.0, **options)
            expected = oracles.gated(
                gate=branches["gate"],
                linear=branches["up"],
                slope=1.702,
                gate_top=gate_limit,
                linear_bound=up_limit,
                offset=1.0,
            )
            checks.close(y, expected, **tolerances.float32(4, 1.0)._asdict(), of=of)


@pytest.mark.graded("numpy_bridge", points=0.5, catches=("unchecked-branches", "wrong-exception"))
def test_numpy_bridge_swiglu_refuses_what_it_cannot_use(numpy_bridge: Functions) -> None:
    """Branches of different shapes, NaN and infinity in a branch or an option, a limit that is not above zero."""
    fine = tensor(np.stack([given.SIGNS, 2 * given.SIGNS]))
    y = numpy_bridge.swiglu(fine, fine, **given.LIMITED)
    checks.finite(y, of="swiglu(gate, up, every option given)")
    for of, gate, up in (
        ("gate of shape [2, 4], up of shape [4]", fine, fine[0].clone()),
        ("gate of shape [2, 1], up of shape [2, 4]", fine[:, :1].clone(), fine),
        ("gate with NaN", fine.clone().fill_diagonal_(np.nan), fine),
        ("up with infinity", fine, fine.clone().fill_diagonal_(-np.inf)),
    ):
        checks.raises(lambda g=gate, u=up: numpy_bridge.swiglu(g, u), "ValueError", of=f"swiglu({of})")
    for option, value in (
        *product(("gate_limit", "up_limit"), (0.0, -2.0, float("nan"), float("inf"))),
        *product(("alpha", "shift_up"), (float("nan"), float("-inf"))),
    ):
        of = f"swiglu(gate, up, {option}={value:g})"
        checks.raises(lambda o=option, v=value: numpy_bridge.swiglu(fine, fine, **{o: v}), "ValueError", of=of)


@pytest.mark.graded("numpy_bridge", points=0.5, catches=("transposed-weights", "swapped-projections", "forgotten-down"))
def test_numpy_bridge_swiglu_mlp_matches_the_formula(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """Tokens are rows and weights stand on the right: [D, F], [D, F] and [F, D] (M6 §13)."""
    arguments = given.mlp_arguments(rng, B, S)
    x, w_gate, w_up, w_down = arguments.values()
    expected = oracles.gated_mlp(tokens=x, into_gate=w_gate, into_linear=w_up, back=w_down)
    y = numpy_bridge.swiglu_mlp(**arguments)
    checks.close(y, expected, **tolerances.float32(inputs.F * D, 1.0)._asdict(), of="swiglu_mlp(x, …)")


@pytest.mark.graded("numpy_bridge", points=0.5, catches=("rank-restricted",))
def test_numpy_bridge_any_layout(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """The same numbers give the same result with any leading axes, none too, and from arrays not in memory order."""
    for name, call in numpy_bridge.calls.items():
        options = given.options_of(name)
        tokens = ("x", "z", "gate", "up")
        for leading in given.LAYOUTS:
            arguments = given.arguments_of(name, rng, *leading)
            width = next(value.shape[-1] for key, value in arguments.items() if key in tokens)
            plain = {k: v.reshape(1, -1, width) if k in tokens else v for k, v in arguments.items()}
            laid_out = {k: given.turned(v) if v.dim() > 1 else v for k, v in arguments.items()}
            expected = call(plain, **options)
            of = f"{name}(arguments of shape {[*leading, width]})"
            checks.shape(expected, (1, int(np.prod(leading)), width), of=f"{name}(arguments of shape [1, …, {width}])")
            same_numbers(call(laid_out, **options), expected.reshape(*leading, width), of)


def same_numbers(y: Tensor, expected: Tensor, of: str) -> None:
    """Two results of the student's own agree, and are not the same number everywhere."""
    checks.finite(expected, of=of)
    constant = text("checks", "numpy_bridge_constant", of=of)
    checks.require(bool(np.ptp(checks.values(expected)) > 1e-3), constant, outcome=Outcome.WRONG_VALUE)
    what = text("checks", "numpy_bridge_layout", of=of)
    checks.close(y, checks.values(expected), **tolerances.float32(inputs.F * D, 1.0)._asdict(), of=of, what=what)


@pytest.mark.graded("numpy_bridge", points=0.5, catches=("in-place",))
def test_numpy_bridge_leaves_its_input_unchanged(numpy_bridge: Functions, rng: np.random.Generator) -> None:
    """No function changes an array that it was given, neither a float32 nor a float64 one."""
    for (name, call), dtype in product(numpy_bridge.calls.items(), (torch.float32, torch.float64)):
        arguments = given.in_dtype(given.arguments_of(name, rng, S), dtype)
        after = call.arguments_after(arguments, **given.options_of(name))
        for argument, before in arguments.items():
            of = f"{name}({dtype_name(dtype)} arguments)"
            checks.unchanged(after[argument], before, of=of, name=argument, implies="numpy_bridge-in-place")
        y = checks.values(call(arguments, **given.options_of(name)))
        constant = text("checks", "numpy_bridge_constant", of=name)
        checks.require(y.size > 1 and bool(np.ptp(y) > 1e-3), constant, outcome=Outcome.WRONG_VALUE)
