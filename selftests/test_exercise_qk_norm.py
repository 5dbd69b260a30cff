"""qk_norm: its oracles against torch in float64, the course's numbers, and the edges of its adapters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nanolm.implementation import Implementation, LocalBackend
from nanolm.protocol import Outcome, Reply, StudentFault
from nanolm.sources import NamespaceSource
from solutions import qk_norm as solution
from tests import oracles as shared_oracles
from tests import oracles_qk_norm as oracles

ENTRIES = ("l2_qk_scores", "per_head_rms_norm", "full_width_rms_norm", "soft_cap")


def call(entry: str, function: object, tensors: Mapping[str, Tensor], **scalars: float) -> Reply:
    """One entry point's call of a function that stands under every name of the exercise."""
    names = dict.fromkeys(ENTRIES, function)
    return Implementation(LocalBackend(NamespaceSource(names), "selftest")).call(entry, tensors, scalars)


SAMPLE: dict[str, tuple[dict[str, Tensor], dict[str, float]]] = {
    "l2_qk_scores": ({"q": torch.randn(2, 3, 5), "k": torch.randn(2, 4, 5)}, {"tau": 2.0, "eps": 1e-6}),
    "per_head_rms_norm": ({"q": torch.randn(1, 2, 3, 5), "gamma": torch.ones(5)}, {"eps": 1e-6}),
    "full_width_rms_norm": ({"q": torch.randn(1, 2, 15), "gamma": torch.ones(15)}, {"n_heads": 3, "eps": 1e-6}),
    "soft_cap": ({"scores": torch.randn(3, 4)}, {"cap": 2.0}),
}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_cosine_scores_equal_torchs_cosine_similarity(rng: np.random.Generator) -> None:
    q, k = rng.standard_normal((2, 3, 5)), rng.standard_normal((2, 4, 5))
    wanted = torch.nn.functional.cosine_similarity(
        torch.tensor(q)[:, :, None], torch.tensor(k)[:, None], dim=-1, eps=1e-6
    )
    np.testing.assert_allclose(oracles.cosine_scores(queries=q, keys=k, scale=3.0), 3 * wanted, rtol=1e-12)


def test_the_floor_leaves_longer_vectors_alone_and_zeros_at_zero() -> None:
    lengths = np.array([[0.1], [0.5], [2.0], [0.0]])
    scores = oracles.cosine_scores(queries=lengths, keys=np.ones((1, 1)), scale=1.0, floor=0.5)
    np.testing.assert_allclose(scores[:, 0], [0.2, 1.0, 1.0, 0.0])


def test_gradients_of_scores_equal_autograds(rng: np.random.Generator) -> None:
    q, k, tau = (torch.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((2, 3, 5), (2, 4, 5), ()))
    upstream = torch.tensor(rng.standard_normal((2, 3, 4)))
    unit = torch.nn.functional.normalize
    (tau * unit(q, dim=-1) @ unit(k, dim=-1).mT * upstream).sum().backward()
    found = oracles.cosine_scores_gradients(
        queries=q.detach().numpy(), keys=k.detach().numpy(), scale=tau.item(), upstream=upstream.numpy()
    )
    for name, tensor in (("q", q), ("k", k), ("tau", tau)):
        np.testing.assert_allclose(found[name], tensor.grad, rtol=1e-10, atol=1e-12)


def test_norms_equal_torchs_rms_norm(rng: np.random.Generator) -> None:
    heads, gain, gain_full = rng.standard_normal((2, 3, 5, 7)), rng.uniform(0.5, 2, 7), rng.uniform(0.5, 2, 35)
    norm = torch.nn.functional.rms_norm
    wanted = norm(torch.tensor(heads), (7,), torch.tensor(gain), 1e-3)
    np.testing.assert_allclose(oracles.head_rows(heads=heads, gain=gain, eps=1e-3), wanted, rtol=1e-12)
    tokens = heads.reshape(2, 3, 35)
    wanted = norm(torch.tensor(tokens), (35,), torch.tensor(gain_full), 1e-3).reshape(2, 3, 5, 7)
    found = oracles.token_rows(tokens=tokens, gain=gain_full, n_heads=5, eps=1e-3)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_soft_cap_equals_tanh_and_its_gradient() -> None:
    scores = torch.tensor([-1e4, -3.0, -0.1, 0.0, 0.5, 2.0, 1e4], dtype=torch.float64, requires_grad=True)
    y = 2 * torch.tanh(scores / 2)
    y.sum().backward()
    found = oracles.bent(scores=scores.detach().numpy(), bound=2.0)
    np.testing.assert_allclose(found, y.detach(), rtol=1e-12, atol=1e-15)
    gradient = oracles.bent_gradient(scores=scores.detach().numpy(), bound=2.0, upstream=np.ones(7))
    np.testing.assert_allclose(gradient, scores.grad, rtol=1e-12, atol=1e-15)


def test_per_head_vectors_are_root_h_long_and_their_scaled_products_root_h_cosines(rng: np.random.Generator) -> None:
    """M6 §7: with the usual denominator the score is √H·cos, not a product of unit vectors."""
    q, k = (torch.tensor(rng.standard_normal((1, 1, 1, 16))) for _ in range(2))
    a, b = (solution.per_head_rms_norm(x, torch.ones(16), 0.0) for x in (q, k))
    assert torch.allclose(torch.linalg.vector_norm(a.double()), torch.tensor(4.0).double(), rtol=1e-5)
    cosine = solution.l2_qk_scores(q, k, 1.0)
    assert torch.allclose((a * b).sum() / 16**0.5, 4 * cosine.sum(), rtol=1e-5)


def test_the_numbers_in_the_docstrings() -> None:
    assert solution.l2_qk_scores(torch.tensor([[3.0, 4.0]]), torch.tensor([[4.0, 3.0]]), 10.0).item() == pytest.approx(
        9.6
    )
    heads = torch.tensor([[[[3.0, 4.0], [0.3, 0.4]]]])
    y = solution.per_head_rms_norm(heads, torch.ones(2))
    assert y.flatten().tolist() == pytest.approx([0.85, 1.13, 0.85, 1.13], abs=5e-3)
    y = solution.full_width_rms_norm(heads.reshape(1, 1, 4), torch.ones(4), 2)
    assert y.flatten().tolist() == pytest.approx([1.19, 1.59, 0.12, 0.16], abs=5e-3)
    y = solution.soft_cap(torch.tensor([2.0, 0.1]), 2.0)
    assert y.tolist() == pytest.approx([1.52, 0.0999], abs=4e-3)


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_reference_gets_through_its_adapter(entry: str) -> None:
    tensors, scalars = SAMPLE[entry]
    assert call(entry, getattr(solution, entry), tensors, **scalars).tensors["y"].dtype == torch.float32
    without = {name: value for name, value in scalars.items() if name != "eps"}
    assert call(entry, getattr(solution, entry), tensors, **without).tensors["y"].isfinite().all()


def test_tau_arrives_as_the_float_or_the_tensor_that_was_given() -> None:
    tensors, _ = SAMPLE["l2_qk_scores"]
    seen: list[Any] = []

    def function(q: Tensor, k: Tensor, tau: float | Tensor, eps: float = 1e-6) -> Tensor:
        seen.append(tau)
        return tau * (q @ k.mT)

    call("l2_qk_scores", function, tensors, tau=2.0)
    call("l2_qk_scores", function, {**tensors, "tau": torch.tensor(2.0)})
    assert isinstance(seen[0], float)
    assert isinstance(seen[1], Tensor)
    assert seen[1].shape == ()


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda q: q, id="too few parameters"),
        pytest.param(lambda *, q, k, tau, eps: q, id="by keyword only"),
        pytest.param("not a function", id="not callable"),
        pytest.param(lambda *arguments: None, id="returns nothing"),
        pytest.param(lambda *arguments: [1.0], id="returns a list"),
    ],
)
def test_what_cannot_be_called_is_a_wrong_interface(function: object) -> None:
    tensors, scalars = SAMPLE["l2_qk_scores"]
    with pytest.raises(StudentFault) as caught:
        call("l2_qk_scores", function, tensors, **scalars)
    assert caught.value.outcome is Outcome.WRONG_INTERFACE


def test_a_type_error_inside_the_function_is_an_exception_not_an_interface_fault() -> None:
    def function(scores: Tensor, cap: float) -> Tensor:
        return scores + "1"  # type: ignore[operator]

    with pytest.raises(StudentFault) as caught:
        call("soft_cap", function, *SAMPLE["soft_cap"][:1], cap=1.0)
    assert caught.value.outcome is Outcome.EXCEPTION
    assert caught.value.kind == "TypeError"


@pytest.mark.parametrize(
    ("error", "seen"), [(ValueError, 1.0), (UnicodeError, 1.0), (AssertionError, 2.0), (None, 0.0)]
)
def test_how_a_cap_is_refused_is_a_number(error: type[Exception] | None, seen: float) -> None:
    def function(scores: Tensor, cap: float) -> Tensor:
        if error is not None:
            raise error("no")
        return scores

    assert call("soft_cap_refusal", function, {"scores": torch.ones(2)}, cap=0.0).tensors["y"].item() == seen


def _functions(module: object) -> dict[str, Callable[..., Any]]:
    return {name: value for name, value in vars(module).items() if inspect.isfunction(value)}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("name", [*_functions(oracles), *_functions(shared_oracles)])
def test_no_oracle_is_an_answer(entry: str, name: str) -> None:
    tensors, scalars = SAMPLE[entry]
    function = {**_functions(shared_oracles), **_functions(oracles)}[name]
    with pytest.raises(StudentFault):
        call(entry, function, tensors, **scalars)
