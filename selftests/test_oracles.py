"""The graded tests' own ground: oracles against autograd, marks against the contract, no oracle that is an answer."""

from __future__ import annotations

import ast
import importlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.bank import given as given_files
from grader.bank import read_gpu_bank
from grader.job import Job
from grader.pool import grade_all
from grader.results import SubmissionResult
from grader.session import Settings
from nanolm.adapters import ENTRIES
from nanolm.course import EXERCISES
from nanolm.execution import Executor
from nanolm.probes import PROBES
from nanolm.protocol import Outcome, StudentFault
from nanolm.sources import NamespaceSource
from nanolm.texts import mistake
from tests import oracles
from tests.oracles import Array

ROOT = Path(__file__).resolve().parents[1]
TEST_FILES = sorted((ROOT / "tests").glob("test_*.py"))

# ── Oracles against torch's autograd in float64 ──────────────────────────────────────────────────────────────────────

seeds = st.integers(0, 2**32 - 1)
leading_axes = st.sampled_from([(), (1,), (3,), (2, 3), (2, 1, 4)])
widths = st.sampled_from([1, 2, 5, 16])


def leaf(values: Array) -> Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def agree(oracle: Array, reference: Tensor) -> None:
    np.testing.assert_allclose(oracle, reference.detach().numpy(), rtol=1e-10, atol=1e-12)
    assert oracle.dtype == np.float64


@settings(max_examples=40)
@given(seeds, leading_axes, widths, st.sampled_from([1e-6, 1e-3, 0.5]), st.sampled_from([1e-3, 1.0, 1e3]))
def test_rms_norm_and_its_gradients(seed: int, leading: tuple[int, ...], width: int, eps: float, size: float) -> None:
    rng = np.random.default_rng(seed)
    x, gamma = rng.standard_normal((*leading, width)) * size, rng.uniform(-2, 2, width)
    upstream = rng.standard_normal(x.shape)
    x_leaf, gamma_leaf = leaf(x), leaf(gamma)
    y = torch.nn.functional.rms_norm(x_leaf, (width,), gamma_leaf, eps)
    agree(oracles.rms_norm_rows(x, gamma, eps), y)
    (y * torch.tensor(upstream)).sum().backward()
    gradients = oracles.rms_norm_gradients(x, gamma, eps, upstream)
    assert set(gradients) == {"x", "gamma"}
    for name, reference in (("x", x_leaf.grad), ("gamma", gamma_leaf.grad)):
        assert reference is not None
        np.testing.assert_allclose(gradients[name], reference.numpy(), rtol=1e-7, atol=1e-9 / size)


@settings(max_examples=40)
@given(seeds, leading_axes, widths, st.sampled_from([1, 3, 7]), st.sampled_from([0.1, 1.0, 5.0]))
def test_the_gated_ffn_and_its_gradients(seed: int, leading: tuple[int, ...], d: int, f: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(shape) * size for shape in ((*leading, d), (f, d), (f, d), (d, f))]
    leaves = [leaf(array) for array in arrays]
    x, w_gate, w_up, w_down = leaves
    y = torch.nn.functional.linear(torch.nn.functional.silu(x @ w_gate.T) * (x @ w_up.T), w_down)
    np.testing.assert_allclose(oracles.gated_ffn(*arrays), y.detach().numpy(), rtol=1e-9, atol=1e-9)
    upstream = rng.standard_normal(arrays[0].shape)
    (y * torch.tensor(upstream)).sum().backward()
    gradients = oracles.gated_ffn_gradients(*arrays, upstream)
    assert list(gradients) == ["x", "w_gate", "w_up", "w_down"]
    for name, reference in zip(gradients, leaves, strict=True):
        assert reference.grad is not None
        assert gradients[name].shape == tuple(reference.shape)
        np.testing.assert_allclose(gradients[name], reference.grad.numpy(), rtol=1e-8, atol=1e-8)


def test_the_logistic_function_is_right_and_finite_everywhere() -> None:
    z = np.concatenate([np.linspace(-40, 40, 801), [-1e4, 1e4, -1e300, 1e300, -745.0, 710.0]])
    np.testing.assert_allclose(oracles.logistic(z), torch.sigmoid(torch.tensor(z)).numpy(), rtol=0, atol=5e-16)
    with np.errstate(all="raise", under="ignore"):
        oracles.logistic(z)


def test_oracles_leave_their_arguments_alone() -> None:
    x = np.ones((2, 3, 5))
    for array in (x, gamma := np.full(5, 2.0)):
        array.setflags(write=False)
    oracles.rms_norm_rows(x, gamma, 1e-6)
    oracles.rms_norm_gradients(x, gamma, 1e-6, x)
    maps = [np.ones((7, 5)), np.ones((7, 5)), np.ones((5, 7))]
    for array in maps:
        array.setflags(write=False)
    oracles.gated_ffn(x, *maps)
    oracles.gated_ffn_gradients(x, *maps, x)


def test_oracles_know_neither_torch_nor_an_implementation() -> None:
    imported = {
        name.name if isinstance(node, ast.Import) else f"{node.module}"
        for node in ast.walk(ast.parse((ROOT / "tests" / "oracles.py").read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert imported <= {"__future__", "numpy", "numpy.typing", "math", "fractions", "collections.abc"}


# ── Marks against the contract ───────────────────────────────────────────────────────────────────────────────────────

IDS = {
    "rmsnorm": """
        centering wrong-axis forgotten-gamma eps-outside-sqrt missing-eps hardcoded-eps sum-not-mean missing-sqrt
        low-precision late-widening wrong-dtype all-axes unbiased-variance gamma-plus-one gamma-twice gamma-before-norm
        detached-statistics in-place extra-bias clamped-denominator uninitialised-gamma random-gamma zero-gamma
        inverted-scale divides-by-rsqrt rank-restricted
    """,
    "swiglu": """
        swapped-gate-up sigmoid-gate gelu-gate relu-gate silu-after-product sum-not-product missing-gate missing-down
        biased-linear overflowing-sigmoid silu-both rounded-width rank-restricted
    """,
}
"""The contract's ids of these two exercises; it welcomes more."""

MORE = {
    "rmsnorm": {"default-eps", "eps-squared", "mean-absolute", "frozen-gamma"},
    "swiglu": {"silu-on-output", "frozen-maps"},
}
POINTS = {"rmsnorm": 14.0, "swiglu": 12.0}


@dataclass(frozen=True)
class Marked:
    """A graded test as its marker has it."""

    name: str
    exercise: str
    points: Any
    catches: tuple[str, ...]


GPU = {
    exercise: {s.label.partition("__")[0] for s in read_gpu_bank(ROOT) if s.exercise == exercise}
    for exercise in EXERCISES
}
"""Mistakes that only GPU tests catch, which carry no points."""

WITHOUT_POINTS = ("test_bridges.py", "test_model.py")
"""Files of tests that no points hang on."""

PRINTED_NAMES = ("test_swiglu_ffn_dim_is_8D_over_3",)
"""Names that the course prints, whatever exercise they belong to."""


@cache
def marked() -> tuple[Marked, ...]:
    found = []
    for path in TEST_FILES:
        for name, function in vars(importlib.import_module(f"tests.{path.stem}")).items():
            for mark in getattr(function, "pytestmark", []):
                if mark.name == "graded":
                    assert {"points"} <= set(mark.kwargs) <= {"points", "catches"}, name
                    found.append(Marked(name, *mark.args, **{"catches": (), **mark.kwargs}))
    return tuple(found)


def test_points_add_up_to_the_contracts_in_steps_of_a_half() -> None:
    for test in marked():
        assert isinstance(test.points, float), test.name
        assert (test.points > 0) is ("_gpu_" not in test.name), test.name
        assert test.points % 0.5 == 0, test.name
    sums: Counter[str] = Counter()
    for test in marked():
        sums[test.exercise] += test.points
    assert dict(sums) == {name: exercise.points for name, exercise in EXERCISES.items()}
    assert {name: EXERCISES[name].points for name in POINTS} == POINTS
    assert all(name in EXERCISES for name in IDS)


def test_every_test_is_graded_once_and_named_after_its_exercise() -> None:
    names = [test.name for test in marked()]
    assert len(names) == len(set(names)) >= 28
    defined = [
        node.name
        for path in TEST_FILES
        if path.name not in WITHOUT_POINTS
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert Counter(defined) == Counter(names)  # one that is defined twice hides the first
    for test in marked():
        assert test.name.startswith(f"test_{test.exercise}_") or test.name in PRINTED_NAMES


def test_catches_are_known_ids_each_once_and_every_id_of_the_contract_is_caught() -> None:
    for exercise, words in IDS.items():
        ids = set(words.split())
        caught: set[str] = set()
        for test in marked():
            if test.exercise == exercise:
                assert test.catches, test.name
                assert len(test.catches) == len(set(test.catches)), test.name
                known = ids | MORE[exercise] | (GPU[exercise] if "_gpu_" in test.name else set())
                assert set(test.catches) <= known, test.name
                caught |= set(test.catches) - GPU[exercise]
        assert caught == ids | MORE[exercise]
        for name in caught:
            assert mistake(f"{exercise}-{name}")


# ── An oracle is not an answer ───────────────────────────────────────────────────────────────────────────────────────

WRAPPED = """

from torch import nn as nn_
import torch as torch_


class RMSNorm(nn_.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn_.Parameter(torch_.ones(d_model))

    def forward(self, x):
        return first_that_works({name}, [(x, self.gamma, self.eps), (x, self.gamma), (x,), (x, self.eps)])


class SwiGLU(nn_.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w_gate = nn_.Linear(d_model, d_ff, bias=False)
        self.w_up = nn_.Linear(d_model, d_ff, bias=False)
        self.w_down = nn_.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        maps = self.w_gate.weight, self.w_up.weight, self.w_down.weight
        return first_that_works({name}, [(x, *maps), (x, x @ maps[0].T, x @ maps[1].T), (x,)])


def first_that_works(function, attempts):
    for arguments in attempts:
        try:
            return function(*arguments)
        except Exception:
            continue
"""
"""A student's glue round a function that is not theirs: whatever takes these tensors is called with them."""

NOTHING = "\n\ndef returns_nothing(x):\n    return None\n"
EARNED_BY_THE_GLUE = {
    "test_rmsnorm_has_only_gamma",
    "test_rmsnorm_gamma_starts_at_ones",
    "test_swiglu_has_three_bias_free_maps",
}


def definitions(pattern: str) -> Iterator[tuple[Path, str]]:
    """Every function and class at the top of these files."""
    for path in sorted(ROOT.glob(pattern)):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield path, node.name


def job(name: str, text: str) -> Job:
    return Job(name, {"modules.py": text, **given_files(ROOT)}, exercises=("rmsnorm", "swiglu"))


SOLUTION = (ROOT / "solutions" / "modules.py").read_text("utf-8")
RENAMED = SOLUTION.replace("class RMSNorm", "class Norm").replace("class SwiGLU", "class Ffn")


def graded() -> dict[str, SubmissionResult]:
    """One graded run of everything that is pasted, and of two controls that must get all points."""
    jobs = [job("control: solution", SOLUTION), job("control: renamed", f"{RENAMED}\nRMSNorm, SwiGLU = Norm, Ffn\n")]
    jobs.append(job("glue alone", NOTHING + WRAPPED.format(name="returns_nothing")))
    for path, name in definitions("tests/*.py"):
        text = path.read_text("utf-8")
        if path.stem == "oracles":
            jobs.append(job(f"bare {name}", f"{text}\n\nRMSNorm = SwiGLU = {name}\n"))
        if not name.startswith("test_"):
            jobs.append(job(f"glued {name}", text + WRAPPED.format(name=name)))
    return {result.name: result for result in grade_all(jobs, Settings(ROOT))}


def passed(result: SubmissionResult) -> set[str]:
    assert result.ungradable is None, f"{result.name}: {result.ungradable}"
    return {v.test.rpartition("::")[2] for v in result.verdicts if v.outcome is Outcome.PASSED}


def test_no_function_of_the_tests_or_the_kit_answers_a_call_under_an_exercises_name() -> None:
    calls = [probe.call() for exercise in IDS for probe in PROBES[exercise]]
    calls = list({(call.entry, bool(call.upstream), call.return_arguments): call for call in calls}.values())
    assert {call.entry for call in calls} == {name for name, entry in ENTRIES.items() if entry.exercise in IDS}
    found = [*definitions("tests/*.py"), *definitions("nanolm/**/*.py")]
    assert len(found) > 150
    for path, name in found:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        pasted = vars(importlib.import_module(module))[name]
        executor = Executor(NamespaceSource({"RMSNorm": pasted, "SwiGLU": pasted}))
        for call in calls:
            with pytest.raises(StudentFault) as fault:
                executor.execute(call)
            assert fault.value.outcome in (Outcome.WRONG_INTERFACE, Outcome.EXCEPTION), f"{module}.{name}"


def test_no_oracle_earns_a_point_neither_bare_nor_handed_a_forwards_tensors() -> None:
    results = graded()
    for name in ("control: solution", "control: renamed"):
        assert results[name].score == 26.0
    assert passed(results["glue alone"]) == EARNED_BY_THE_GLUE

    bare = {name: result for name, result in results.items() if name.startswith("bare ")}
    assert len(bare) >= 6
    assert {name: result.score for name, result in bare.items() if result.score} == {}
    outcomes = {v.outcome for result in bare.values() for v in result.verdicts}
    assert outcomes - {Outcome.NOT_RUN_HERE} == {Outcome.WRONG_INTERFACE}

    glued = {name: result for name, result in results.items() if name.startswith("glued ")}
    assert len(glued) > 15
    gained = {name: passed(result) - EARNED_BY_THE_GLUE for name, result in glued.items()}
    assert {name: tests for name, tests in gained.items() if tests} == {}


def test_the_proof_covers_the_oracles() -> None:
    names = {name for _, name in definitions("tests/oracles.py")}
    own = {name for name, value in vars(oracles).items() if isinstance(value, FunctionType)}
    assert own <= names
    assert {"rms_norm_rows", "gated_ffn", "logistic"} <= names
