"""The exercise placement from outside: oracles against torch and the course, stand-ins and adapters at their edges."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from nanolm.adapters import block_file as adapters
from nanolm.checks import CheckFailure
from nanolm.course_stack import course_stack
from nanolm.fixtures.block_file import ScaleCalls, StepCalls, Steps
from nanolm.implementation import Implementation, LocalBackend
from nanolm.protocol import Outcome, StudentFault
from nanolm.sources import NamespaceSource
from solutions import block as solution
from tests import inputs_block as inputs
from tests import oracles_block as oracles
from tests import test_block as graded
from tests.inputs import exact, tensor

STEPS = tuple(oracles.PROGRAMS)
NAMES = (*STEPS, "forward_scale")
TORCH = {
    "pre_norm_step": lambda x, attn, ffn, norm1, norm2: x + attn(norm1(x)) + ffn(norm2(x + attn(norm1(x)))),
    "post_norm_step": lambda x, attn, ffn, norm1, norm2: norm2(norm1(attn(x) + x) + ffn(norm1(attn(x) + x))),
    "peri_norm_step": lambda x, attn, ffn, in1, out1, in2, out2: (
        x + out1(attn(in1(x))) + out2(ffn(in2(x + out1(attn(in1(x))))))
    ),
    "output_norm_step": lambda x, attn, ffn, out1, out2: x + out1(attn(x)) + out2(ffn(x + out1(attn(x)))),
}
"""Each step in one expression, which calls some callables twice."""


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def implemented(**replaced: Callable[..., Any]) -> Implementation:
    """The solution's functions, some of them replaced."""
    names = {name: getattr(solution, name) for name in NAMES} | replaced
    return Implementation(LocalBackend(NamespaceSource(names), "made here"))


def steps(**replaced: Callable[..., Any]) -> Steps:
    implementation = implemented(**replaced)
    return Steps(*(StepCalls(implementation, name) for name in STEPS))


def scale(function: Callable[..., Any] = solution.forward_scale) -> ScaleCalls:
    return ScaleCalls(implemented(forward_scale=function), "forward_scale")


def stand_in(numbers: dict[str, Tensor], name: str) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.tanh(nn.functional.linear(x, numbers[f"{name}_A"])) + numbers[f"{name}_b"]


# ── Oracles ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("leading", [(), (4,), (2, 3)])
@pytest.mark.parametrize("step", STEPS)
def test_the_programs_and_their_gradients_equal_torch(step: str, leading: tuple[int, ...]) -> None:
    known = inputs.known(inputs.block(rng(), step, *leading))
    upstream = rng(1).standard_normal(known["x"].shape)
    leaves = {name: torch.tensor(value, requires_grad=True) for name, value in known.items()}
    y = TORCH[step](leaves["x"], *(stand_in(leaves, name) for name in adapters.CALLABLES[step]))
    np.testing.assert_allclose(oracles.run(step, known), y.detach().numpy(), rtol=1e-12)
    found = torch.autograd.grad(y, list(leaves.values()), torch.tensor(upstream))
    expected = oracles.gradients(step, known, upstream)
    assert set(expected) == set(leaves)
    for name, gradient in zip(leaves, found, strict=True):
        np.testing.assert_allclose(expected[name], gradient.numpy(), atol=1e-12, err_msg=name)


def test_a_program_names_just_the_callables_that_the_adapter_hands_over() -> None:
    assert {step: sorted(names) for step, names in adapters.CALLABLES.items()} == {
        step: oracles.callables(step) for step in STEPS
    }
    assert {step: list(chain) for step, chain in inputs.CHAINS.items()} == {
        step: list(names) for step, names in adapters.CALLABLES.items()
    }


def test_the_scales_equal_the_recurrences_in_torch_and_the_course_s_numbers() -> None:
    for h0, weights, digits in (
        (*inputs.stack(rng()), 13),
        (*course_stack(), 11),
        (*inputs.vanishing(rng()), 13),
    ):
        for placement, expected in oracles.stream_scales(exact(h0), exact(weights)).items():
            np.testing.assert_allclose(
                solution.forward_scale(h0, weights, placement).numpy(), expected, rtol=10.0**-digits
            )
    last = {name: scales[-1] for name, scales in oracles.stream_scales(*map(exact, course_stack())).items()}
    assert round(last["none"], 3) == 412442.094
    assert round(last["pre"], 5) == 6.42348
    assert last["post"] == pytest.approx(1.0, abs=1e-15)


def test_the_course_s_stack_is_drawn_as_the_contract_says() -> None:
    drawn = np.random.default_rng(5)
    h0, weights = course_stack()
    np.testing.assert_array_equal(exact(h0), drawn.standard_normal(256))
    np.testing.assert_allclose(exact(weights), drawn.normal(0.0, np.sqrt(1 / 256), (36, 256, 256)), rtol=1e-15)


@pytest.mark.parametrize(("step", "result"), zip(STEPS, (366, 314, 731, 267), strict=True))
def test_the_chain_by_hand(step: str, result: float) -> None:
    maps = [lambda x, a=a, b=b: a * x + b for a, b in inputs.CHAINS[step].values()]
    assert TORCH[step](1, *maps) == getattr(solution, step)(1, *maps) == result
    swapped = maps[:2][::-1] + maps[2:]
    assert len({result, TORCH[step](1, *swapped), TORCH[step](1, *maps[:2], *maps[:1:-1])}) == 3


def test_the_chain_tells_placements_and_parallel_branches_apart() -> None:
    maps = attn, ffn, norm1, norm2 = [lambda x, a=a, b=b: a * x + b for a, b in inputs.CHAINS["pre_norm_step"].values()]
    parallel = 1 + attn(norm1(1)) + ffn(norm2(1))
    results = [TORCH[step](1, *maps) for step in STEPS if len(adapters.CALLABLES[step]) == 4]
    assert (parallel, results[:2]) == (51, [366, 314])
    assert len({parallel, *results}) == 4


def test_inputs_show_what_they_are_for() -> None:
    h0, weights = inputs.vanishing(rng())
    assert exact(h0).std() < oracles.SCALE_UNIT > np.sqrt((exact(h0) ** 2).mean())
    scales = oracles.stream_scales(exact(h0), exact(weights))
    assert scales["post"][0] == pytest.approx(0.75)
    assert 1.2 > scales["pre"][0] > 0.3
    h0, weights = inputs.stack(rng())
    assert all(abs(W - W.T).max() > 0.1 for W in exact(weights))
    given = inputs.block(rng(), "peri_norm_step", 2, 3)
    silent = inputs.silenced(given, "attn")
    assert [name for name in given if not torch.equal(given[name], silent[name])] == ["attn_A", "attn_b"]


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch wonders about being indexed by a list
def test_no_oracle_is_an_answer() -> None:
    members = (*inspect.getmembers(oracles, inspect.isfunction), *inspect.getmembers(inputs, inspect.isfunction))
    modules = (oracles.__name__, inputs.__name__)
    pasted = [value for _, value in members if value.__module__ in modules]
    assert len(pasted) > 8
    for function in pasted:
        for name in STEPS:
            with pytest.raises(StudentFault):
                StepCalls(implemented(**{name: function}), name)(inputs.block(rng(), name, 2, 3))
        with pytest.raises(StudentFault):
            scale(function)(*inputs.stack(rng()), "pre")


# ── Stand-ins and adapters ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_stand_in_counts_its_calls_and_describes_the_first_few() -> None:
    norm = adapters.StandIn("norm1", tensor(np.eye(3)), torch.ones(3))
    for _ in range(adapters.LISTED + 2):
        assert torch.equal(norm(torch.full((2, 3), 0.5)), torch.tanh(torch.full((2, 3), 0.5)) + 1)
    assert norm(torch.ones(3, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert norm.calls == adapters.LISTED + 3
    assert norm.given == ["0.5"] * adapters.LISTED
    assert norm.shapes == [[2, 3]] * adapters.LISTED
    assert norm.dtypes == ["float32"] * adapters.LISTED
    assert torch.equal(
        adapters.StandIn("ffn", 7 * torch.eye(1), torch.ones(1), straight=True)(torch.ones(1)), 8 * torch.ones(1)
    )


@pytest.mark.parametrize(
    ("arguments", "named", "words"),
    [
        ((torch.ones(3, 2),), {}, "[3, 2]"),
        ((torch.tensor(1.0),), {}, "[]"),
        ((torch.ones(3, dtype=torch.int64),), {}, "int64"),
        ((np.ones(3),), {}, "ndarray"),
        ((None,), {}, "NoneType"),
        ((), {}, "0 arguments"),
        ((torch.ones(3), None), {}, "2 arguments"),
        ((torch.ones(3),), {"mask": None}, "mask by name"),
    ],
)
def test_a_stand_in_refuses_what_it_cannot_map(arguments: tuple[Any, ...], named: dict[str, Any], words: str) -> None:
    with pytest.raises(StudentFault) as caught:
        adapters.StandIn("attn", tensor(np.eye(3)), torch.zeros(3))(*arguments, **named)
    assert caught.value.outcome is Outcome.WRONG_INTERFACE
    assert caught.value.message.startswith("attn was called with ")
    assert words in caught.value.message


def test_what_a_stand_in_returns_may_be_added_to_in_place() -> None:
    def pre_norm_step(x: Tensor, attn: Any, ffn: Any, norm1: Any, norm2: Any) -> Tensor:
        a = attn(norm1(x))
        a += x
        return ffn(norm2(a)).add_(a)

    calls = steps(pre_norm_step=pre_norm_step)
    graded.test_placement_gradients(calls, rng())
    graded.test_placement_leaves_its_input_unchanged(calls, scale(), rng())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("answer", "words"), [(lambda *_: None, "return"), (lambda *_: 1.0, "float")])
def test_no_tensor_is_a_fault_of_the_interface(name: str, answer: Callable[..., Any], words: str) -> None:
    implementation = implemented(**{name: answer})
    step, measure = StepCalls(implementation, name), ScaleCalls(implementation, name)
    measured = name == "forward_scale"
    attempt = measure.of_the_course if measured else lambda: step(inputs.block(rng(), name, 2))
    with pytest.raises(StudentFault, match=words) as caught:
        attempt()
    assert caught.value.outcome is Outcome.WRONG_INTERFACE


def test_the_placements_do_not_see_each_other_s_stream() -> None:
    def forward_scale(h0: Tensor, weights: Tensor, placement: str) -> Tensor:
        found = solution.forward_scale(h0, weights, placement)
        h0.zero_()
        return found

    for placement, expected in scale().of_the_course().items():
        assert torch.equal(scale(forward_scale).of_the_course()[placement], expected)


def test_what_is_done_to_the_course_s_stack_ends_with_the_call() -> None:
    def forward_scale(h0: Tensor, weights: Tensor, placement: str) -> Tensor:
        weights.zero_()
        return solution.forward_scale(h0, weights, placement)

    right = scale().of_the_course()
    assert scale(forward_scale).of_the_course()["none"].unique().numel() == 1
    assert all(torch.equal(value, right[name]) for name, value in scale().of_the_course().items())


# ── What the tests say ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_wrong_number_comes_with_what_each_callable_was_handed() -> None:
    calls = steps(pre_norm_step=lambda x, attn, ffn, norm1, norm2: x + attn(norm1(x)) + ffn(norm1(x)))
    with pytest.raises(CheckFailure) as caught:
        graded.test_placement_pre_norm_follows_a_number(calls, rng())
    assert caught.value.outcome is Outcome.WRONG_VALUE
    assert "attn = 5x, ffn = 7x, norm1 = 2x+1, norm2 = 3x+2" in caught.value.headline
    assert "attn was given 3; ffn was given 3; norm1 was given 1, 1; norm2 was given nothing" in caught.value.numbers


@pytest.mark.parametrize(
    ("step", "words", "implies"),
    [
        (
            lambda x, attn, ffn, norm1, norm2: TORCH["pre_norm_step"](x, attn, ffn, norm1, norm2),
            "attn 2 times",
            "repeated-call",
        ),
        (lambda x, attn, ffn, norm1, norm2: x + attn(norm1(x)) + ffn(norm1(x)), "norm1 2 times", None),
        (lambda x, attn, ffn, norm1, norm2: x + attn(norm1(x)) + ffn(x), "norm2 0 times", "missing-second-norm"),
        (lambda x, attn, ffn, norm1, norm2: x, "attn 0 times", None),
    ],
)
def test_calls_that_are_not_one_are_a_fault_of_the_interface(
    step: Callable[..., Tensor], words: str, implies: str | None
) -> None:
    with pytest.raises(CheckFailure, match=words) as caught:
        graded.test_placement_calls_each_callable_once(steps(pre_norm_step=step), rng())
    assert caught.value.outcome is Outcome.WRONG_INTERFACE
    assert caught.value.implies == (f"placement-{implies}" if implies else None)
    if "2 times" in words:
        assert "was given 1" in caught.value.numbers or "was given 3, 3" in caught.value.numbers


def test_a_callable_handed_another_dtype_costs_the_test_of_the_dtype() -> None:
    def output_norm_step(x: Tensor, *callables: Any) -> Tensor:
        return solution.output_norm_step(x.float(), *callables).to(x.dtype)

    with pytest.raises(CheckFailure, match="handed attn float32") as caught:
        graded.test_placement_keeps_the_dtype(steps(output_norm_step=output_norm_step), scale(), rng())
    assert caught.value.outcome is Outcome.WRONG_DTYPE


def test_another_exception_is_not_the_one_that_was_asked_for() -> None:
    with pytest.raises(CheckFailure) as caught:
        graded.test_placement_forward_scale_refuses_another_placement(
            scale(lambda h0, weights, placement: {"none": weights[:, 0, 0]}[placement]), rng()
        )
    assert (caught.value.outcome, caught.value.implies) == (Outcome.WRONG_ERROR, None)
