"""numpy_bridge: its oracles against bare arithmetic, the course's numbers, and the edges of its adapters."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nanolm.implementation import Implementation, LocalBackend
from nanolm.protocol import Outcome, Reply, Scalar, StudentFault
from nanolm.sources import NamespaceSource
from solutions import numpy_bridge as solution
from tests import inputs_numpy_bridge as given
from tests import oracles as shared_oracles
from tests import oracles_numpy_bridge as oracles
from tests.inputs import tensor

NAMES = ("rms_norm", "layer_norm", "stable_sigmoid", "silu", "gelu", "gelu_sigmoid", "swiglu", "swiglu_mlp")
DOUBLE = torch.float64


def call(name: str, answer: object, tensors: Mapping[str, Tensor], **scalars: Scalar) -> Reply:
    """One entry point's call of a function that stands under every name of the exercise."""
    implementation = Implementation(LocalBackend(NamespaceSource(dict.fromkeys(NAMES, answer)), "selftest"))
    return implementation.call(f"numpy_{name}", tensors, scalars)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


# ── Oracles ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_norms_are_those_of_exact_fractions() -> None:
    row = [Fraction(value) for value in (2, -1, 3, 0)]
    mean = sum(row) / 4
    square, variance = sum(v * v for v in row) / 4, sum((v - mean) ** 2 for v in row) / 4
    assert (mean, square, variance) == (1, Fraction(7, 2), Fraction(5, 2))
    rows = tensor([[float(v) for v in row]], DOUBLE)
    expected = [[float(v) / math.sqrt(square + Fraction(1, 100)) for v in row]]
    np.testing.assert_allclose(oracles.rms_rows(rows=rows, eps=0.01), expected, rtol=1e-14)
    expected = [[float(v - mean) / math.sqrt(variance + Fraction(1, 100)) for v in row]]
    np.testing.assert_allclose(oracles.layer_rows(rows=rows, eps=0.01), expected, rtol=1e-14, atol=1e-15)


def test_gain_and_shift_come_last(rng: np.random.Generator) -> None:
    x, gamma, beta = given.in_dtype(given.norm_arguments(rng, 2, 3), DOUBLE).values()
    plain = oracles.layer_rows(rows=x)
    shifted = oracles.layer_rows(rows=x, gain=gamma, shift=beta)
    np.testing.assert_allclose(shifted, plain * gamma.numpy() + beta.numpy(), rtol=1e-12)
    np.testing.assert_allclose(oracles.rms_rows(rows=x, gain=gamma), oracles.rms_rows(rows=x) * gamma.numpy())


@pytest.mark.parametrize("z", [*given.NEAR, *given.FAR, math.log(3.0), 1e-9])
def test_the_curves_are_those_of_the_math_module(z: float) -> None:
    logistic = 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))
    slope = 1.702 * z
    imitation = 1 / (1 + math.exp(-slope)) if z >= 0 else math.exp(slope) / (1 + math.exp(slope))
    known = {
        "stable_sigmoid": logistic,
        "silu": z * logistic,
        "gelu": z * 0.5 * math.erfc(-z / math.sqrt(2)),
        "gelu_sigmoid": z * imitation,
    }
    assert set(known) == set(oracles.CURVES)
    for name, expected in known.items():
        found = float(oracles.curve(name=name, at=tensor(z, DOUBLE)))
        assert abs(found - expected) <= 1e-14 * max(1.0, abs(z)), name


def test_the_courses_distance_between_the_two_gelus() -> None:
    """M6 §8: at most 0.020335 on 4001 points between -6 and 6."""
    points = tensor(np.linspace(-6, 6, 4001), DOUBLE)
    exact, imitation = (oracles.curve(name=name, at=points) for name in ("gelu", "gelu_sigmoid"))
    assert np.abs(exact - imitation).max() == pytest.approx(0.020335, abs=5e-7)


def test_the_clamped_product_saturates_as_the_course_says() -> None:
    """M6 §9: on g = u = z the product is the same at 7 and 9, near 56, and small and positive at -9."""
    z = tensor([-9.0, 7.0, 9.0], DOUBLE)
    low, seven, nine = oracles.gated(gate=z, linear=z, slope=1.702, gate_top=7.0, linear_bound=7.0, offset=1.0)
    assert seven == nine == pytest.approx(56.0, abs=1e-3)
    assert 0 < low < 1e-4


def test_a_symmetric_clamp_of_the_gate_would_hardly_show_at_seven() -> None:
    """Why the tests also have a limit of 1: at 7 the two differ by 4e-4 of products up to 56."""
    branches = given.in_dtype(given.grid(), DOUBLE)

    def apart(limit: float) -> float:
        gate, up = branches["gate"], branches["up"]
        right = oracles.gated(gate=gate, linear=up, slope=1.702, gate_top=limit, linear_bound=7.0, offset=1.0)
        wrong = oracles.gated(gate=gate.clamp(-limit, limit), linear=up, slope=1.702, linear_bound=7.0, offset=1.0)
        return float(np.abs(right - wrong).max())

    assert apart(7.0) < 5e-4
    assert apart(1.0) > 0.5


def test_the_mlp_is_its_parts(rng: np.random.Generator) -> None:
    x, w_gate, w_up, w_down = given.in_dtype(given.mlp_arguments(rng, 2, 3), DOUBLE).values()
    found = oracles.gated_mlp(tokens=x, into_gate=w_gate, into_linear=w_up, back=w_down)
    np.testing.assert_allclose(found, oracles.gated(gate=x @ w_gate, linear=x @ w_up) @ w_down.numpy(), atol=1e-12)


def _functions(module: object) -> dict[str, Callable[..., Any]]:
    return {name: value for name, value in vars(module).items() if inspect.isfunction(value)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", _functions(oracles).values(), ids=_functions(oracles))
def test_no_oracle_is_an_answer(name: str, function: object, rng: np.random.Generator) -> None:
    with pytest.raises(StudentFault):
        call(name, function, given.arguments_of(name, rng, 2))


def test_the_shared_oracles_are_no_answers_but_for_the_logistic_function(rng: np.random.Generator) -> None:
    for name in NAMES:
        arguments = given.arguments_of(name, rng, 2)
        expected = call(name, getattr(solution, name), arguments).tensors["y"]
        for other, function in _functions(shared_oracles).items():
            try:
                y = call(name, function, arguments).tensors["y"]
            except StudentFault:
                continue
            alike = y.shape == expected.shape and torch.allclose(y.double(), expected.double(), rtol=1e-4)
            assert not alike or (name, other) == ("stable_sigmoid", "logistic"), (name, other)


# ── The solution's docstrings ────────────────────────────────────────────────────────────────────────────────────────


def test_the_numbers_in_the_docstrings() -> None:
    row = np.array([2.0, -1.0, 3.0, 0.0])
    assert solution.rms_norm(row).tolist() == pytest.approx([1.069, -0.535, 1.604, 0.0], abs=5e-4)
    assert solution.layer_norm(row).tolist() == pytest.approx([0.632, -1.265, 1.265, -0.632], abs=6e-4)
    assert float(solution.stable_sigmoid(np.array(math.log(3.0)))) == pytest.approx(0.75, abs=1e-15)
    assert solution.silu(np.array([2.0, -2.0])).tolist() == pytest.approx([1.7616, -0.2384], abs=5e-5)
    assert solution.gelu(np.array([1.0, -1.0])).tolist() == pytest.approx([0.841344746, -0.158655254], abs=5e-10)
    z = np.linspace(-6, 6, 4001)
    assert np.abs(solution.gelu(z) - solution.gelu_sigmoid(z)).max() == pytest.approx(0.0203, abs=5e-5)
    nine, options = np.array([9.0, 7.0]), {"alpha": 1.702, "gate_limit": 7.0, "up_limit": 7.0, "shift_up": 1.0}
    assert solution.swiglu(nine, nine, **options).tolist() == pytest.approx([56.0, 56.0], abs=1e-3)


# ── Adapters ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dtype", given.DTYPES)
def test_tensors_arrive_as_arrays_of_their_dtype_and_strides(dtype: torch.dtype) -> None:
    seen: list[Any] = []
    turned = given.turned(torch.arange(6.0).reshape(2, 3)).to(dtype)

    def function(z: Any) -> Any:
        seen.append(z)
        return z[::-1]

    y = call("silu", function, {"z": turned}).tensors["y"]
    (z,) = seen
    assert type(z) is np.ndarray
    assert str(z.dtype) == str(dtype).removeprefix("torch.")
    assert not z.flags.c_contiguous
    assert torch.equal(y, turned.flip(0))
    assert y.dtype == dtype


def test_norms_are_called_by_position_and_no_longer_than_needed() -> None:
    seen: list[Any] = []

    def function(*arguments: Any, **options: Any) -> Any:
        seen.append(([type(a).__name__ for a in arguments], options))
        return arguments[0]

    x = torch.ones(2, 3)
    call("layer_norm", function, {"x": x})
    call("layer_norm", function, {"x": x, "beta": x[0]})
    call("rms_norm", function, {"x": x}, eps=0.5)
    call("swiglu", function, {"gate": x, "up": x}, alpha=2.0)
    assert seen == [
        (["ndarray"], {}),
        (["ndarray", "NoneType", "ndarray"], {}),
        (["ndarray", "NoneType", "float"], {}),
        (["ndarray", "ndarray"], {"alpha": 2.0}),
    ]


@pytest.mark.parametrize(
    ("answer", "words", "outcome"),
    [
        (lambda z: None, "is a `return` missing", Outcome.WRONG_INTERFACE),
        (lambda z: z.tolist(), "returned a list, not a NumPy array", Outcome.WRONG_INTERFACE),
        (lambda z: 1.0, "returned a float, not a NumPy array", Outcome.WRONG_INTERFACE),
        (lambda z: z > 0, "dtype bool", Outcome.WRONG_DTYPE),
        (lambda z: z.astype(object), "dtype object", Outcome.WRONG_DTYPE),
        (lambda z: z + 0j, "dtype complex64", Outcome.WRONG_DTYPE),
        (lambda z: z.astype(np.int64), "dtype int64", Outcome.WRONG_DTYPE),
        (lambda: 1.0, "cannot be called", Outcome.WRONG_INTERFACE),
        ("not a function", "cannot be called", Outcome.WRONG_INTERFACE),
    ],
)
def test_what_is_no_array_of_floats_is_a_fault_with_words(answer: object, words: str, outcome: Outcome) -> None:
    with pytest.raises(StudentFault, match=words) as caught:
        call("silu", answer, {"z": torch.ones(2, 3)})
    assert caught.value.outcome is outcome


@pytest.mark.parametrize(
    "answer",
    [
        lambda z: z.astype(">f4"),
        lambda z: z[..., ::-1][..., ::-1],
        lambda z: np.asmatrix(z),
        lambda z: np.ma.masked_array(z),
        lambda z: np.broadcast_to(z, z.shape),
    ],
)
def test_an_array_of_another_kind_is_one_all_the_same(answer: object) -> None:
    z = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(call("silu", answer, {"z": z}).tensors["y"], z)


def test_a_numpy_number_is_the_answer_to_a_single_number() -> None:
    y = call("silu", lambda z: z[()] * 1, {"z": tensor(2.0)}).tensors["y"]
    assert y.shape == ()
    assert y.dtype == torch.float32


def test_a_warning_is_neither_an_error_nor_shown() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = call("silu", lambda z: z / (1 + np.exp(-z)), {"z": tensor([-1e4, 1e4])}).tensors["y"]
    assert y.tolist() == [0.0, 1e4]


@pytest.mark.parametrize(
    ("error", "seen"), [(ValueError, 2.0), (UnicodeError, 2.0), (TypeError, 3.0), (AssertionError, 3.0), (None, 4.0)]
)
def test_how_a_function_refuses_is_a_number(error: type[Exception] | None, seen: float) -> None:
    def function(x: Any, *rest: Any) -> Any:
        if error is not None:
            raise error("no")
        return x

    reply = call("refusal", function, {"x": torch.ones(2)}, function="rms_norm")
    assert reply.tensors["y"].item() == seen


def test_a_change_in_place_is_seen_on_the_argument() -> None:
    def function(z: Any) -> Any:
        z *= 2
        return z

    implementation = Implementation(LocalBackend(NamespaceSource({"silu": function}), "selftest"))
    z = torch.ones(3)
    after = implementation.call("numpy_silu", {"z": z}, {}, return_arguments=True).arguments["z"]
    assert after.tolist() == [2.0, 2.0, 2.0]
    assert z.tolist() == [1.0, 1.0, 1.0]
