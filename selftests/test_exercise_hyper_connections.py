"""The exercise mhc from outside: oracles against torch and the course, the branch and the adapters at their edges."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nanolm.adapters import hyper_connections_file as adapters
from nanolm.checks import CheckFailure
from nanolm.fixtures.hyper_connections_file import Functions, SinkhornCalls, StreamCalls
from nanolm.implementation import Implementation, LocalBackend
from nanolm.protocol import Outcome, StudentFault
from nanolm.sources import NamespaceSource
from solutions import hyper_connections as solution
from tests import inputs_hyper_connections as inputs
from tests import oracles_hyper_connections as oracles
from tests import test_hyper_connections as graded
from tests.inputs import exact, tensor

NAMES = ("sinkhorn", "mix_streams", "hyper_connection_step", "mhc_step")


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def functions(**replaced: Callable[..., Any]) -> Functions:
    """The solution's functions as tests call them, some of them replaced."""
    names = {name: getattr(solution, name) for name in NAMES} | replaced
    implementation = Implementation(LocalBackend(NamespaceSource(names), "made here"))
    first, *others = NAMES
    return Functions(SinkhornCalls(implementation, first), *(StreamCalls(implementation, name) for name in others))


def projected(logits: Tensor, rounds: int) -> Tensor:
    """Sinkhorn in torch float64, by softmaxes."""
    for _ in range(rounds):
        logits = logits.log_softmax(-2).log_softmax(-1)
    return logits.exp()


# ── Oracles ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("n", inputs.STREAMS)
@pytest.mark.parametrize("rounds", [1, 2, 20])
def test_the_projection_and_its_pullback_equal_torch(n: int, rounds: int) -> None:
    entries, upstream = np.exp(inputs.spread(rng(n), 3, n, n)), rng(1).standard_normal((3, n, n))
    logits = torch.tensor(np.log(entries), requires_grad=True)
    y = projected(logits, rounds)
    (gradient,) = torch.autograd.grad(y, logits, torch.tensor(upstream))
    np.testing.assert_allclose(oracles.balanced(entries, rounds), y.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(oracles.balanced_pullback(entries, rounds, upstream), gradient.numpy(), atol=1e-12)


@pytest.mark.parametrize("leading", [(), (5,), (2, 3)])
def test_a_step_and_its_gradients_equal_torch(leading: tuple[int, ...]) -> None:
    known = inputs.known(inputs.constrained_layer(rng(3), 3, *leading))
    upstream = rng(4).standard_normal(known["X"].shape)
    t = {name: torch.tensor(value, requires_grad=True) for name, value in known.items()}
    read, write = torch.sigmoid(t["read_logits"]), torch.sigmoid(t["write_logits"])
    update = torch.tanh((read[:, None] * t["X"]).sum(-2) @ t["A"].T + t["b"])
    y = projected(t["residual_logits"], 2) @ t["X"] + write[:, None] * update[..., None, :]
    np.testing.assert_allclose(oracles.constrained_streams_after(**known, rounds=2), y.detach().numpy(), atol=1e-12)
    gradients = torch.autograd.grad(y, list(t.values()), torch.tensor(upstream))
    expected = oracles.constrained_gradients(**known, rounds=2, upstream=upstream)
    for name, gradient in zip(t, gradients, strict=True):
        np.testing.assert_allclose(expected[name], gradient.numpy(), atol=1e-11, err_msg=name)


def test_the_course_s_numbers() -> None:
    entries = np.array([[3.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(oracles.balanced(entries, 1), [[0.6, 0.4], [1 / 3, 2 / 3]])
    np.testing.assert_allclose(oracles.balanced(entries, 3), [[0.63, 0.37], [0.37, 0.63]], atol=0.005)
    silent = {"read": np.zeros(2), "write": np.zeros(2), "A": np.zeros((1, 1)), "b": np.zeros(1)}
    for R, X, after in (
        ([[0.75, 0.25], [0.25, 0.75]], [2, 6], [3, 5]),
        ([[0.7, 0.3], [0.3, 0.7]], [2, 0], [1.4, 0.6]),
        ([[0.7, 0.3], [0.3, 0.7]], [1.4, 0.6], [1.16, 0.84]),
        ([[1, 0.3], [0.3, 1]], [1, 1], [1.3, 1.3]),
    ):
        got = oracles.streams_after(np.array(X, float)[:, None], np.array(R), **silent)
        np.testing.assert_allclose(got[:, 0], after)
    assert round(1.3**32, -2) == 4400
    matrix = np.array([[0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6]])
    np.testing.assert_allclose([matrix @ [1, 2, 4], matrix.T @ [1, 2, 4]], [[1.6, 2.5, 2.9], [2.0, 1.9, 3.1]])


def test_the_docstring_s_step() -> None:
    R, half = tensor([[0.75, 0.25], [0.25, 0.75]]), tensor([0.5, 0.5])
    y = solution.hyper_connection_step(tensor([[2.0], [6.0]]), R, half, tensor([1.0, 2.0]), lambda x: x + 1)
    assert y.tolist() == [[8.0], [15.0]]


def test_no_oracle_is_an_answer() -> None:
    members = (*inspect.getmembers(oracles, inspect.isfunction), *inspect.getmembers(inputs, inspect.isfunction))
    pasted = [value for _, value in members if value.__module__ in (oracles.__name__, inputs.__name__)]
    arguments = inputs.layer(rng(), 3, 5) | inputs.constrained_layer(rng(), 3, 5)
    assert len(pasted) > 12
    for function in pasted:
        calls = functions(**dict.fromkeys(NAMES, function))
        for attempt in (
            lambda calls=calls: calls.sinkhorn(arguments["residual_logits"], 2),
            lambda calls=calls: calls.mix_streams({"R": arguments["R"], "X": arguments["X"]}),
            lambda calls=calls: calls.hyper_connection_step(arguments),
            lambda calls=calls: calls.mhc_step(arguments),
        ):
            with pytest.raises(StudentFault):
                attempt()


# ── Inputs ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_inputs_show_what_they_are_for() -> None:
    slow = [oracles.balanced(np.exp(inputs.slow(2)), rounds) for rounds in (10, 19, 20, 21, 100)]
    assert min(abs(slow[2] - other).max() for other in (slow[0], slow[1], slow[3], slow[4])) > 1e-3
    mild = np.exp(inputs.mild(rng(), 50, 4, 4))
    assert abs(oracles.balanced(mild, 20) - oracles.balanced(mild, 200)).max() < 1e-6
    streams = inputs.cancelling_streams(rng(), 3, 5)
    assert streams.sum(dim=-2).abs().max() == 0
    assert np.allclose([inputs.MIXED.sum(0), inputs.MIXED.sum(1)], 1)
    assert len({inputs.B, inputs.S, inputs.D, *inputs.STREAMS}) == 6
    assert abs(inputs.extreme(rng(), 3)).max() == 1e4


# ── The branch and the adapters ──────────────────────────────────────────────────────────────────────────────────────


def test_a_branch_counts_its_calls_and_describes_the_first_few() -> None:
    branch = adapters.Branch(tensor(np.eye(3)), torch.zeros(3))
    for _ in range(adapters.LISTED + 2):
        assert torch.equal(branch(torch.ones(2, 3)), torch.tanh(torch.ones(2, 3)))
    assert branch(torch.ones(3, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert branch.calls == adapters.LISTED + 3
    assert branch.shapes == [[2, 3]] * adapters.LISTED
    assert branch.dtypes == ["float32"] * adapters.LISTED


@pytest.mark.parametrize("handed", [torch.ones(3, 2), torch.tensor(1.0), np.ones(3), None])
def test_a_branch_refuses_what_it_cannot_map(handed: object) -> None:
    branch = adapters.Branch(tensor(np.eye(3)), torch.zeros(3))
    with pytest.raises(StudentFault) as caught:
        branch(handed)
    assert caught.value.outcome is Outcome.WRONG_INTERFACE


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("answer", "words"), [(lambda *_: None, "return"), (lambda *_: 1.0, "float")])
def test_no_tensor_is_a_fault_of_the_interface(name: str, answer: Callable[..., Any], words: str) -> None:
    calls = functions(**{name: answer})
    arguments = inputs.layer(rng(), 3, 5) | inputs.constrained_layer(rng(), 3, 5)
    call = getattr(calls, name)
    with pytest.raises(StudentFault, match=words) as caught:
        call(arguments["residual_logits"]) if name == "sinkhorn" else call(arguments)
    assert caught.value.outcome is Outcome.WRONG_INTERFACE


def test_gradients_reach_the_numbers_of_the_branch() -> None:
    arguments = inputs.layer(rng(), 3, 5)
    gradients = functions().hyper_connection_step.gradients(arguments, torch.ones_like(arguments["X"]))
    expected = oracles.streams_gradients(**inputs.known(arguments), upstream=np.ones((5, 3, inputs.D)))
    assert set(gradients) == set(arguments)
    for name in ("A", "b"):
        np.testing.assert_allclose(exact(gradients[name]), expected[name], rtol=1e-4, atol=1e-5)


def step(uses: Callable[[Tensor, Tensor, Callable[[Tensor], Tensor]], Tensor]) -> Callable[..., Tensor]:
    """A hyper-connection step whose update comes from `uses(X, read, branch)`."""

    def hyper_connection_step(X: Tensor, R: Tensor, read: Tensor, write: Tensor, branch: Any) -> Tensor:
        return R @ X + write[:, None] * uses(X, read, branch).unsqueeze(-2)

    return hyper_connection_step


PER_STREAM = "mhc-branch-per-stream"


@pytest.mark.parametrize(
    ("uses", "words", "implies"),
    [
        (lambda X, read, branch: branch(read @ X) + 0 * branch(read @ X), "2 times", None),
        (lambda X, read, branch: sum(branch(read @ X) for _ in read) / len(read), "3 times", PER_STREAM),
        (lambda X, read, branch: read @ branch(X), "[5, 6, 3, 7]", PER_STREAM),
        (lambda X, read, branch: branch(torch.cat([read @ X] * 2))[: X.shape[0]], "[10, 6, 7]", None),
        (lambda X, read, branch: read @ X, "0 times", None),
    ],
)
def test_a_branch_used_otherwise_than_once_is_a_fault_of_the_interface(
    uses: Callable[..., Tensor], words: str, implies: str | None
) -> None:
    calls = functions(hyper_connection_step=step(uses))
    with pytest.raises(CheckFailure) as caught:
        graded.test_mhc_step_calls_the_branch_once(calls.hyper_connection_step, calls.mhc_step, rng())
    assert caught.value.outcome is Outcome.WRONG_INTERFACE
    assert words in caught.value.headline
    assert caught.value.implies == implies


def test_a_stream_axis_and_flat_tokens_are_one_vector_a_token() -> None:
    for uses in (
        lambda X, read, branch: branch((read[:, None] * X).sum(-2, keepdim=True)).squeeze(-2),
        lambda X, read, branch: branch((read @ X).flatten(0, 1)).view(*X.shape[:2], -1),
    ):
        calls = functions(hyper_connection_step=step(uses))
        graded.test_mhc_step_calls_the_branch_once(calls.hyper_connection_step, calls.mhc_step, rng())


def test_a_branch_handed_another_dtype_costs_the_test_of_the_dtype() -> None:
    widened = step(lambda X, read, branch: branch((read @ X).float()).to(X.dtype))
    calls = functions(hyper_connection_step=widened)
    with pytest.raises(CheckFailure, match="handed its branch float32") as caught:
        graded.test_mhc_keeps_the_dtype(calls, rng())
    assert caught.value.outcome is Outcome.WRONG_DTYPE
