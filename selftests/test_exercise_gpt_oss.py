"""gpt_oss: its oracle against torch in float64, the course's numbers, and the edges of its adapters and inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from nanolm import checks
from nanolm.fixtures.gpt_oss_file import ClampedSwiGLUCalls, SplitCalls
from nanolm.implementation import Implementation, LocalBackend
from nanolm.protocol import Outcome, StudentFault
from nanolm.sources import NamespaceSource
from solutions import gpt_oss as solution
from tests import inputs_gpt_oss as inputs
from tests import oracles as shared_oracles
from tests import oracles_gpt_oss as oracles
from tests import test_gpt_oss as graded

ALPHA, LIMIT = 1.702, 7.0


def calls(split: object = solution.split_gate_up, activation: object = solution.clamped_swiglu) -> Any:
    """The two fixtures on these functions."""
    names = {"split_gate_up": split, "clamped_swiglu": activation}
    implementation = Implementation(LocalBackend(NamespaceSource(names), "selftest"))
    return SplitCalls(implementation, "split_gate_up"), ClampedSwiGLUCalls(implementation, "clamped_swiglu")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


# ── The oracle ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("limit", [0.7, 1.0, 7.0])
def test_the_oracle_equals_torch_with_its_gradient(rng: np.random.Generator, limit: float) -> None:
    features = 2 * limit * rng.standard_normal((2, 3, 14))
    packed = torch.tensor(features, requires_grad=True)
    gate, up = packed.unflatten(-1, (7, 2)).unbind(-1)
    gate, up = gate.clamp(max=limit), torch.nn.functional.hardtanh(up, -limit, limit)
    y = torch.nn.functional.silu(ALPHA * gate) / ALPHA * (up + 1)
    upstream = rng.standard_normal((2, 3, 7))
    (y * torch.tensor(upstream)).sum().backward()
    found = oracles.bounded_product(features=features, slope=ALPHA, bound=limit)
    np.testing.assert_allclose(found, y.detach(), rtol=1e-10, atol=1e-13)
    found = oracles.bounded_product_gradient(features=features, slope=ALPHA, bound=limit, upstream=upstream)
    np.testing.assert_allclose(found, packed.grad, rtol=1e-10, atol=1e-12)


def test_the_oracle_holds_far_out() -> None:
    features = np.array([[1e4, 1e4], [-1e4, -1e4], [1e4, -1e4]])
    found = oracles.bounded_product(features=features, slope=ALPHA, bound=LIMIT)
    plateau = LIMIT / (1 + np.exp(-ALPHA * LIMIT))
    np.testing.assert_allclose(found, [[8 * plateau], [0.0], [-6 * plateau]], rtol=1e-12, atol=1e-12)


def _functions(module: object) -> dict[str, Callable[..., Any]]:
    return {name: value for name, value in vars(module).items() if inspect.isfunction(value)}


@pytest.mark.parametrize("name", [*_functions(oracles), *_functions(inputs), *_functions(shared_oracles)])
def test_no_oracle_and_no_maker_of_inputs_earns_a_point(name: str, rng: np.random.Generator) -> None:
    function = {**_functions(shared_oracles), **_functions(inputs), **_functions(oracles)}[name]
    split, activation = calls(function, function)
    fixtures = {"split_gate_up": split, "clamped_swiglu": activation, "rng": rng}
    tests = [value for name, value in _functions(graded).items() if name.startswith("test_gpt_oss_")]
    assert len(tests) >= 15
    for test in tests:
        with pytest.raises((StudentFault, checks.CheckFailure)):
            test(**{name: fixtures[name] for name in inspect.signature(test).parameters})


# ── Numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def slice_of(z: float) -> tuple[float, float]:
    """The gate's factor and the product where gate and up are both z (M6 §9), in float64, by hand."""
    gate, up = min(z, 7.0), max(-7.0, min(z, 7.0))
    factor = gate / (1 + np.exp(-1.702 * gate))
    return factor, factor * (up + 1)


def test_the_courses_slice_where_gate_and_up_are_equal() -> None:
    factors, products = zip(*(slice_of(z) for z in (-9.0, 0.0, 7.0, 9.0)), strict=True)
    assert factors == pytest.approx((-2.0032e-6, 0.0, 6.999953, 6.999953), rel=1e-4)
    assert products == pytest.approx((1.2019e-5, 0.0, 55.999625, 55.999625), rel=1e-4)
    assert factors[0] * -6 == pytest.approx(products[0])  # a small negative factor times -6: small and positive
    assert products[2] == products[3]  # both inputs are clamped to the same numbers
    packed = inputs.one_pair_a_token([-9.0, 0.0, 7.0, 9.0], [-9.0, 0.0, 7.0, 9.0])
    assert solution.clamped_swiglu(packed).flatten().tolist() == pytest.approx(products, rel=1e-5, abs=1e-10)
    z = np.linspace(-9.0, 9.0, 181)
    assert max(slice_of(value)[1] for value in z) == pytest.approx(56.0, abs=4e-4)
    assert max(slice_of(value)[0] for value in z) == pytest.approx(7.0, abs=5e-5)


def test_the_numbers_in_the_docstrings() -> None:
    gate, up = solution.split_gate_up(torch.tensor([10, 20, 11, 21, 12, 22.0]))
    assert (gate.tolist(), up.tolist()) == ([10, 11, 12], [20, 21, 22])
    assert solution.clamped_swiglu(torch.tensor([3.0, -10.0]), ALPHA, 2.0).item() == pytest.approx(-1.936, abs=5e-4)
    assert 2 / (1 + np.exp(-2 * ALPHA)) == pytest.approx(2 * 0.9678, abs=1e-4)
    for z in (7.0, 9.0):
        assert solution.clamped_swiglu(torch.tensor([z, z])).item() == pytest.approx(56.0, abs=5e-4)


def test_at_the_published_limit_a_gate_clamped_on_both_sides_hardly_shows() -> None:
    """Why clamps are tested at a limit of 1: at 7 the two differ by 3.6e-4 at most, over |gate| and |up| up to 9."""
    z = np.linspace(-9.0, 9.0, 721)
    gate, up = (part.ravel() for part in np.meshgrid(z, z))

    def widest(limit: float) -> float:
        features = np.stack([gate, up], axis=-1)
        right = oracles.bounded_product(features=features, slope=ALPHA, bound=limit)
        clamped = np.stack([np.clip(gate, -limit, limit), up], axis=-1)
        return float(np.abs(oracles.bounded_product(features=clamped, slope=ALPHA, bound=limit) - right).max())

    assert 3e-4 < widest(LIMIT) < 4e-4
    assert widest(1.0) > 0.3


def test_one_pair_a_token_hides_how_a_projection_is_packed_and_seven_do_not() -> None:
    packed = inputs.one_pair_a_token([1.0, 2.0, -3.0], [4.0, 5.0, 6.0])
    assert all(torch.equal(*pair) for pair in zip(packed.chunk(2, -1), solution.split_gate_up(packed), strict=True))
    packed = inputs.interleaved([[1.0, 2.0, -3.0]], [[4.0, 5.0, 6.0]])
    assert not torch.equal(packed.chunk(2, -1)[0], solution.split_gate_up(packed)[0])


def test_drawn_branches_lie_on_all_sides_of_the_limit_and_not_near_it(rng: np.random.Generator) -> None:
    for limit in (0.8, 7.0):
        gate, up = oracles.paired(features=inputs.around(rng, 2, 3, 14, limit=limit).double().numpy())
        sides = {tuple(np.digitize(pair, [-limit, 0.0, limit])) for pair in zip(gate.ravel(), up.ravel(), strict=True)}
        assert len(sides) == 16
        for branch in (gate, up):
            assert (np.abs(np.abs(branch) - limit) > 0.09 * limit).all()


# ── Adapters ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Branches(NamedTuple):
    gate: Tensor
    up: Tensor


PAIRS = {
    "views of packed": lambda packed: (packed[..., ::2], packed[..., 1::2]),
    "a list": lambda packed: [packed[..., ::2], packed[..., 1::2]],
    "a named tuple": lambda packed: Branches(packed[..., ::2], packed[..., 1::2]),
    "a generator": lambda packed: (packed[..., start::2] for start in range(2)),
    "one tensor of both": lambda packed: torch.stack([packed[..., ::2], packed[..., 1::2]]),
}
NO_PAIRS = {
    "nothing": lambda packed: None,
    "one tensor": lambda packed: packed[..., ::2].sum(),
    "three": lambda packed: (packed, packed, packed),
    "lists of numbers": lambda packed: (packed.tolist(), packed.tolist()),
    "a dictionary": lambda packed: {"gate": packed[..., ::2], "up": packed[..., 1::2]},
}


@pytest.mark.parametrize("name", PAIRS)
def test_whatever_unpacks_into_two_branches_is_a_pair(name: str) -> None:
    split, _ = calls(split=PAIRS[name])
    gate, up = split(torch.arange(12.0).reshape(1, 2, 6))
    assert (gate[0, 0].tolist(), up[0, 0].tolist()) == ([0, 2, 4], [1, 3, 5])
    found = split.gradients(torch.arange(4.0), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    assert found["packed"].tolist() == [1, 3, 2, 4]


@pytest.mark.parametrize("name", NO_PAIRS)
def test_what_does_not_is_a_wrong_interface(name: str) -> None:
    split, _ = calls(split=NO_PAIRS[name])
    with pytest.raises(StudentFault) as fault:
        split(torch.arange(12.0).reshape(1, 2, 6))
    assert fault.value.outcome is Outcome.WRONG_INTERFACE


def test_settings_are_given_by_position_and_only_where_a_test_gives_them() -> None:
    seen: list[tuple[Any, ...]] = []

    def activation(packed: Tensor, /, *settings: float) -> Tensor:
        seen.append(settings)
        return packed[..., ::2]

    _, clamped = calls(activation=activation)
    for settings in ((), (0.5,), (0.5, 2.0)):
        clamped(torch.ones(1, 1, 2), *settings)
    assert seen == [(), (0.5,), (0.5, 2.0)]


def test_one_function_can_be_right_without_the_other(rng: np.random.Generator) -> None:
    def unwritten(*arguments: object) -> Tensor:
        raise NotImplementedError("gpt_oss: later")

    split, _ = calls(activation=unwritten)
    graded.test_gpt_oss_split_worked_numbers(split, rng)
    _, clamped = calls(
        unwritten, lambda x, a=ALPHA, b=LIMIT: torch.tensor(graded.product(x, a, b), dtype=torch.float32)
    )
    graded.test_gpt_oss_gate_curve(clamped, rng)
    graded.test_gpt_oss_matches_the_formula(clamped, rng)


CONSTANTS = {
    "zeros": lambda packed, *settings: torch.zeros_like(packed[..., ::2]),
    "ones": lambda packed, *settings: torch.ones_like(packed[..., ::2]),
    "not a number": lambda packed, *settings: torch.full_like(packed[..., ::2], torch.nan),
    "the gate": lambda packed, *settings: packed[..., ::2],
    "a scalar": lambda packed, *settings: packed.sum(),
    "packed": lambda packed, *settings: packed,
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_laws_are_not_met_by_answers_that_gate_nothing(name: str, rng: np.random.Generator) -> None:
    split, clamped = calls(activation=CONSTANTS[name])
    attempts: list[Callable[[], None]] = [
        lambda: graded.test_gpt_oss_both_functions_read_pairs(split, clamped, rng),
        lambda: graded.test_gpt_oss_up_is_shifted_by_one(clamped, rng),
        lambda: graded.test_gpt_oss_gate_is_clamped_above(clamped, rng),
        lambda: graded.test_gpt_oss_gate_is_not_clamped_below(clamped, rng),
        lambda: graded.test_gpt_oss_up_is_clamped_on_both_sides(clamped, rng),
        lambda: graded.test_gpt_oss_keeps_the_dtype(split, clamped, rng),
        lambda: graded.test_gpt_oss_leaves_its_input_unchanged(split, clamped, rng),
    ]
    for attempt in attempts:
        with pytest.raises(checks.CheckFailure):
            attempt()
