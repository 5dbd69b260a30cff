"""elementwise: its oracles against torch in float64, the course's numbers, and which parameter the adapters take."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from grader.bank import given
from grader.job import Job
from grader.pool import grade_all
from grader.results import SubmissionResult
from grader.session import Settings
from nanolm.course import EXERCISES
from nanolm.fixtures.elementwise_file import CurveCalls
from nanolm.implementation import Implementation, LocalBackend, TestCut
from nanolm.probes.elementwise_file import B_OF_R
from nanolm.protocol import Backend, Call, Outcome, Reply, StudentFault
from nanolm.sources import NamespaceSource
from solutions import elementwise as solution
from tests import oracles as shared_oracles
from tests import oracles_elementwise as oracles

ROOT = Path(__file__).resolve().parents[1]
SOLUTION = (ROOT / "solutions" / "elementwise.py").read_text(encoding="utf-8")


def curve(name: str, made: object) -> CurveCalls:
    """Calls of one class, as tests make them."""
    backend: Backend = LocalBackend(NamespaceSource({name: made}), "selftest")
    numbers = {"DyT": ("alpha", "alpha0"), "DyISRU": ("r", "b0")}
    return CurveCalls(Implementation(backend), name, *numbers[name])


def leaf(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


# ── Oracles ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5)])
def test_oracles_and_their_gradients_equal_torchs(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(7)
    x, gamma, beta = leaf(rng.standard_normal(shape) * 3), leaf(rng.uniform(0.5, 2, 5)), leaf(rng.standard_normal(5))
    upstream = rng.standard_normal(shape)
    known = {name: value.detach().numpy() for name, value in (("x", x), ("gamma", gamma), ("beta", beta))}
    for number, r in (("alpha", 0.7), ("r", -1.3)):
        value = leaf(r)
        if number == "alpha":
            y = gamma * torch.tanh(value * x) + beta
            found = oracles.dyt_features(alpha=r, **known)
            gradients = oracles.dyt_gradients(alpha=r, upstream=upstream, **known)
        else:
            y = gamma * x / torch.sqrt(torch.nn.functional.softplus(value) + x**2) + beta
            found = oracles.dyisru_features(b=oracles.softplus(r), **known)
            gradients = oracles.dyisru_gradients(r=r, upstream=upstream, **known)
        np.testing.assert_allclose(found, y.detach(), rtol=1e-12)
        wanted = torch.autograd.grad(y, (x, value, gamma, beta), torch.tensor(upstream))
        for name, gradient in zip(("x", number, "gamma", "beta"), wanted, strict=True):
            np.testing.assert_allclose(gradients[name], gradient, rtol=1e-9, atol=1e-12)


def test_the_curves_are_right_far_out_near_zero_and_at_zero() -> None:
    x = np.array([-1e4, -300.0, -1e-9, 0.0, 1e-9, 300.0, 1e4])
    np.testing.assert_allclose(oracles.hyperbolic(x), np.tanh(x), rtol=1e-14)
    np.testing.assert_allclose(oracles.sine(x, 4.0), x / np.sqrt(4 + x**2), rtol=1e-14)
    assert oracles.softplus(1000.0) == 1000.0
    assert oracles.softplus(-40.0) == pytest.approx(math.exp(-40.0))


def test_slopes_at_zero_match_at_the_default_starts() -> None:
    """M6 §11: alpha = 0.5 and b = 4 give one slope."""
    x, ones, zeros = np.array([1e-6]), np.ones(1), np.zeros(1)
    assert oracles.dyt_features(x, 0.5, ones, zeros)[0] == pytest.approx(0.5e-6)
    assert oracles.dyisru_features(x, 4.0, ones, zeros)[0] == pytest.approx(0.5e-6)


def test_the_probes_start_where_their_r_is() -> None:
    assert {r: oracles.softplus(r) for r in B_OF_R} == pytest.approx(B_OF_R)


def test_the_numbers_in_the_docstrings() -> None:
    x = torch.tensor([2.0, 0.1])
    assert solution.DyT(2)(x).tolist() == pytest.approx([0.762, 0.04996], abs=4e-4, rel=1e-3)
    assert solution.DyISRU(2)(x).tolist() == pytest.approx([0.707, 0.04994], abs=4e-4, rel=1e-3)
    assert solution.DyISRU(2).r.item() == pytest.approx(3.9815, abs=5e-5)


@pytest.mark.parametrize("b0", [1e-4, 0.1, 1, 4.0, 30.0, 100.0])
def test_b_is_b0_at_the_start(b0: float) -> None:
    assert torch.nn.functional.softplus(solution.DyISRU(3, b0).r).item() == pytest.approx(b0, rel=1e-5)


@pytest.mark.parametrize(
    "function", [f for m in (oracles, shared_oracles) for _, f in inspect.getmembers(m, inspect.isfunction)]
)
def test_no_oracle_is_an_answer(function: object) -> None:
    for name in ("DyT", "DyISRU"):
        with pytest.raises(StudentFault) as caught:
            curve(name, function)({"x": torch.ones(1, 1, 5)})
        assert caught.value.outcome is Outcome.WRONG_INTERFACE


# ── Which parameter is which ─────────────────────────────────────────────────────────────────────────────────────────


def module(**parameters: Tensor) -> type[nn.Module]:
    """A DyT whose forward takes its parameters in the order in which they are given: alpha, gamma, beta."""

    class Made(nn.Module):
        def __init__(self, d_model: int, alpha0: float = 0.5) -> None:
            super().__init__()
            for name, value in parameters.items():
                self.register_parameter(name, nn.Parameter(value.clone()))

        def forward(self, x: Tensor) -> Tensor:
            alpha, gamma, beta = self._parameters.values()
            return gamma * torch.tanh(alpha * x) + beta  # type: ignore[operator]

    return Made


ONE, ONES, ZEROS, NOISE = torch.tensor(0.5), torch.ones(3), torch.zeros(3), torch.tensor([0.3, -1.0, 2.0])
GIVEN = {
    "x": torch.tensor([[0.3, -2.0, 1.0]]),
    "alpha": torch.tensor(0.8),
    "gamma": torch.tensor([0.5, 1.5, 2.0]),
    "beta": torch.tensor([0.1, -0.6, 0.9]),
}


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({"alpha": ONE, "gamma": ONES, "beta": ZEROS}, id="the exercise's names"),
        pytest.param({"a": ONE, "weight": ONES, "bias": ZEROS}, id="the published names"),
        pytest.param({"a": ONE, "w1": ONES, "w2": ZEROS}, id="told by their start"),
        pytest.param({"a": ONE, "gamma": NOISE, "other": NOISE}, id="the only one left is beta"),
        pytest.param({"a": ONE, "other": NOISE, "beta": NOISE}, id="the only one left is gamma"),
        pytest.param({"a": ONE, "weight": ZEROS, "bias": ZEROS}, id="a gain that starts at zeros"),
        pytest.param({"alpha": ONE, "gamma": NOISE, "beta": NOISE}, id="names before starts"),
        pytest.param({"alpha": ONE.reshape(1), "gamma": ONES, "beta": ZEROS}, id="one element"),
        pytest.param({"alpha": ONE.reshape(1, 1), "gamma": ONES[None], "beta": ZEROS[None]}, id="too many axes"),
        pytest.param({"alpha": NOISE, "gamma": ONES, "beta": ZEROS}, id="a vector alpha"),
        pytest.param({"slope": NOISE, "gamma": ONES, "beta": ZEROS}, id="a vector alpha of another name"),
    ],
)
def test_parameters_are_found_by_name_shape_and_start(parameters: Mapping[str, Tensor]) -> None:
    calls = curve("DyT", module(**parameters))
    wanted = oracles.dyt_features(**{name: value.double().numpy() for name, value in GIVEN.items()})
    np.testing.assert_allclose(calls(GIVEN), wanted, rtol=1e-5)
    assert calls.fresh(3).roles == dict(zip(("alpha", "gamma", "beta"), parameters, strict=True))
    renamed = {name for name in parameters if name not in GIVEN}
    assert len(calls._implementation.notes) == len(renamed)


def test_what_nothing_tells_apart_is_a_wrong_interface() -> None:
    with pytest.raises(StudentFault, match="do not say which is which: a \\[\\], one \\[3\\], two \\[3\\]") as caught:
        curve("DyT", module(a=ONE, one=NOISE, two=NOISE))(GIVEN)
    assert caught.value.outcome is Outcome.WRONG_INTERFACE


def test_a_missing_parameter_is_left_and_a_buffer_is_set_but_has_no_role() -> None:
    class Fixed(nn.Module):
        def __init__(self, d_model: int, alpha0: float = 0.5) -> None:
            super().__init__()
            self.alpha = alpha0
            self.register_buffer("gamma", torch.ones(d_model))

        def forward(self, x: Tensor) -> Tensor:
            return self.gamma * torch.tanh(self.alpha * x)  # type: ignore[operator, no-any-return]

    calls = curve("DyT", Fixed)
    wanted = GIVEN["gamma"] * torch.tanh(0.25 * GIVEN["x"])
    assert torch.allclose(calls(GIVEN, 0.25), wanted)
    assert calls.fresh(3).roles == {}
    assert set(calls.gradients(GIVEN, 0.25, torch.ones(1, 3))) == {"x", "gamma"}


@pytest.mark.parametrize("roles", [None, ["alpha"], {"alpha": "nothing"}, {"alpha": ["alpha"]}])
def test_roles_that_no_adapter_reports_cut_the_test(roles: Any) -> None:
    class Odd:
        name = "odd"

        def run(self, call: Call) -> Reply:
            facts = {"trained": [], "drawn": []} | ({} if roles is None else {"roles": roles})
            return Reply(tensors={"parameter:alpha": torch.ones(())}, facts=facts)

    with pytest.raises(TestCut):
        CurveCalls(Implementation(Odd()), "DyT", "alpha", "alpha0").fresh(3)


# ── Wrong answers that are in no bank ────────────────────────────────────────────────────────────────────────────────

CURVES = {
    "zeros": ("y = y * 0", "y = y * 0"),
    "x itself": ("y = x * 1", "y = x * 1"),
    "half of it": ("y = y * 0.5", "y = y * 0.5"),
    "turned": ("y = -y", "y = -y"),
    "NaN": ("y = y * float('nan')", "y = y * float('nan')"),
    "dropped out": ("y = F.dropout(y, 0.5, True)", "y = F.dropout(y, 0.5, True)"),
    "rounded": ("y = y.round()", "y = y.round()"),
    "residual inside": ("y = x + y", "y = x + y"),
    "a sine": ("y = self.gamma * torch.sin(self.alpha * x) + self.beta", "pass"),
    "a doubled argument": ("y = self.gamma * torch.tanh(2 * self.alpha * x) + self.beta", "pass"),
    "alpha squared": ("y = self.gamma * torch.tanh(self.alpha**2 * x) + self.beta", "pass"),
    "beta taken away": ("y = y - 2 * self.beta", "pass"),
    "gamma turned round": ("pass", "y = self.gamma.flip(0) * (y - self.beta) / self.gamma + self.beta"),
    "features turned round": ("y = y.flip(-1)", "y = y.flip(-1)"),
    "b twice": ("pass", "y = self.gamma * x * torch.rsqrt(2 * F.softplus(self.r) + x * x) + self.beta"),
    "a cube root": ("pass", "y = self.gamma * x / (F.softplus(self.r) + x * x) ** (1 / 3) + self.beta"),
}


def changed(of_dyt: str, of_dyisru: str) -> str:
    """The solution with a line more at the end of each forward, where `y` is the right answer."""
    text = SOLUTION.replace("return self.gamma * torch.tanh(", "y = self.gamma * torch.tanh(")
    text = text.replace("return self.gamma * x * torch.rsqrt(", "y = self.gamma * x * torch.rsqrt(")
    head, dyt, dyisru = text.split("        ### END SOLUTION\n\n\n")[0], *text.split("class ")[1:]
    assert head
    first = dyt.rstrip() + f"\n        {of_dyt}\n        return y\n\n\n"
    second = dyisru.rstrip() + f"\n        {of_dyisru}\n        return y\n"
    return f"{text.split('class ')[0]}class {first}class {second}"


ALONE = {"DyT": "DyISRU", "DyISRU": "DyT"}


@pytest.fixture(scope="module")
def graded() -> dict[str, SubmissionResult]:
    """All of them, the right answer, and each class alone, graded in one go."""
    texts = {"right": changed("pass", "pass")} | {name: changed(*lines) for name, lines in CURVES.items()}
    texts |= {name: SOLUTION.replace(f"class {other}(", f"class Not{other}(") for name, other in ALONE.items()}
    jobs = [
        Job(name, {"elementwise.py": text} | given(ROOT), exercises=("elementwise",)) for name, text in texts.items()
    ]
    settings = Settings(ROOT, ("elementwise",), round="self-test", secret=b"a secret")
    return {result.name: result for result in grade_all(jobs, settings)}


def test_an_unknown_mistake_gets_no_name(graded: dict[str, SubmissionResult]) -> None:
    assert graded["right"].score == EXERCISES["elementwise"].points
    for name in CURVES:
        assert graded[name].score < graded["right"].score, name
        assert [cause.id for cause in graded[name].root_causes] == [], name


@pytest.mark.parametrize("name", ALONE)
def test_a_class_written_alone_earns_its_own_tests(graded: dict[str, SubmissionResult], name: str) -> None:
    passed = [v.test.rpartition("::")[2] for v in graded[name].verdicts if v.outcome is Outcome.PASSED]
    assert len(passed) == 4
    assert all(test.startswith(f"test_elementwise_{name.lower()}_") for test in passed)


def test_every_call_of_the_oracles_is_float64() -> None:
    functions: dict[str, Callable[..., Any]] = dict(inspect.getmembers(oracles, inspect.isfunction))
    assert {"hyperbolic", "sine", "dyt_features", "dyisru_features"} <= set(functions)
    assert oracles.dyt_features(np.ones((2, 3)), 0.5, np.ones(3), np.zeros(3)).dtype == np.float64
    assert oracles.dyisru_features(np.ones((2, 3)), 4.0, np.ones(3), np.zeros(3)).dtype == np.float64
