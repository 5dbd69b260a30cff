"""The exercise budget from outside: its oracles against torch's own modules, its adapters at their edges."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from grader.bank import given
from grader.isolation import open_zygote
from grader.remote import WorkerBackend
from grader.sandbox import BEST
from nanolm.checks import CheckFailure
from nanolm.fixtures.budget_file import CfgCalls, FFNCalls, WidthCalls
from nanolm.implementation import Implementation, LocalBackend
from nanolm.probes import PROBES
from nanolm.protocol import Call, Outcome, Scalar, StudentFault
from nanolm.sources import NamespaceSource, PackageSource
from solutions.config import ModelConfig
from tests import oracles_budget as oracles
from tests.test_budget import LLAMA, _line_of, geometry, whole

ROOT = Path(__file__).parent.parent
FUNCTIONS = ("swiglu_ffn_dim", "ffn_params", "attention_params", "block_params", "model_params")

WIDTHS = {
    (4096, 256): 11008,
    (5120, 256): 13824,
    (512, 256): 1536,
    (1024, 256): 2816,
    (2048, 256): 5632,
    (384, 256): 1024,
    (768, 256): 2048,
    (1536, 256): 4096,
    (300, 100): 800,
    (75, 200): 200,
    (512, 1): 1366,
    (1024, 2): 2732,
    (1024, 3): 2733,
    (1, 1): 3,
    (1, 256): 256,
    (3 * 2**60 + 1, 1): 2**63 + 3,
}
"""Worked by hand (the first by the course, W6)."""


# ── Oracles ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def accepted(width: int, d_model: int, multiple: int) -> bool:
    """All that the tests ask of a width."""
    return (
        width % multiple == 0
        and oracles.reaches_the_budget(width, d_model)
        and not oracles.could_be_smaller(width, d_model, multiple)
    )


@pytest.mark.parametrize(("sizes", "width"), WIDTHS.items())
def test_the_property_accepts_the_width_of_the_table_and_no_other(sizes: tuple[int, int], width: int) -> None:
    assert accepted(width, *sizes)
    assert not oracles.misses_by_a_multiple(width, *sizes)
    for off in range(-3 * sizes[1], 3 * sizes[1] + 1, max(1, sizes[1] // 2)):
        assert accepted(width + off, *sizes) == (off == 0)


@pytest.mark.parametrize("digits", [3, 17, 30, 60])
def test_the_property_agrees_with_exact_fractions_at_any_length(digits: int) -> None:
    rng = np.random.default_rng(digits)
    for _ in range(50):
        d_model = int("".join(map(str, rng.integers(1, 10, digits))))
        multiple = int(rng.integers(1, 1000))
        width = math.ceil(Fraction(8 * d_model, 3 * multiple)) * multiple
        assert accepted(width, d_model, multiple)
        assert not accepted(width + 1, d_model, multiple)
        assert not accepted(width - multiple, d_model, multiple)


class Block(nn.Module):
    """A block of torch's own modules, without memory."""

    def __init__(self, d: int, n: int, k: int, h: int, f: int) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, heads * h, bias=False, device="meta") for heads in (n, k, k))
        self.o = nn.Linear(n * h, d, bias=False, device="meta")
        self.gate, self.up = (nn.Linear(d, f, bias=False, device="meta") for _ in range(2))
        self.down = nn.Linear(f, d, bias=False, device="meta")
        self.norm1, self.norm2 = (nn.RMSNorm(d, device="meta") for _ in range(2))


def parameters_of_modules(sizes: dict[str, int], *, tied: bool) -> int:
    """Distinct parameters of a decoder built of torch's modules."""
    d = sizes["D"]
    blocks = [Block(d, *(sizes[name] for name in "NKHF")) for _ in range(sizes["L"])]
    embedding = nn.Embedding(sizes["V"], d, device="meta")
    head = nn.Linear(d, sizes["V"], bias=False, device="meta")
    if tied:
        head.weight = embedding.weight
    model = nn.ModuleList([embedding, *blocks, nn.RMSNorm(d, device="meta"), head])
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_tensors_of_the_oracle_are_those_of_torchs_modules() -> None:
    for sizes in (LLAMA, geometry(np.random.default_rng(1), grouped=True, head_width_is_free=True)):
        for tied in (False, True):
            assert oracles.entries(oracles.model_tensors(sizes, tied=tied)) == parameters_of_modules(sizes, tied=tied)


def test_the_oracle_gives_the_courses_numbers() -> None:
    assert oracles.entries(oracles.attention_tensors(LLAMA)) == 41_943_040
    assert oracles.entries(oracles.ffn_tensors(4096, 14336, into=2)) == 176_160_768
    assert oracles.entries(oracles.block_tensors(LLAMA)) == 218_112_000
    assert oracles.entries(oracles.model_tensors(LLAMA, tied=False)) == 8_030_261_248
    assert oracles.entries(oracles.model_tensors(LLAMA, tied=True)) == 7_504_924_672


@pytest.mark.parametrize(
    ("off", "mistake"),
    [
        (-4_096, "budget-forgotten-final-norm"),
        (-131_072, "budget-forgotten-norms"),
        (805_306_368, "budget-mha-not-gqa"),
        (-1_879_048_192, "budget-two-matrices"),
        (-525_336_576, "budget-untied-counted-once"),
        (525_336_576, "budget-tied-counted-twice"),
        (0, None),
        (-135_168, None),
    ],
)
def test_a_line_of_the_ledger_is_known_by_its_size(off: int, mistake: str | None) -> None:
    assert _line_of(off)[1] == mistake


def test_drawn_sizes_hide_what_they_promise() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        plain, grouped = geometry(rng, grouped=False), geometry(rng, grouped=True)
        free = geometry(rng, grouped=True, head_width_is_free=True)
        assert plain["K"] == plain["N"]
        assert len({grouped["N"], grouped["K"], grouped["N"] // grouped["K"]}) == 3
        assert all(sizes["D"] == sizes["N"] * sizes["H"] for sizes in (plain, grouped))
        assert free["D"] % free["N"] == 0
        assert free["D"] // free["N"] != free["H"]


@pytest.mark.parametrize(
    "value", [11008.0, True, None, "11008", 10**60, -(10**5000)], ids=lambda value: type(value).__name__
)
def test_what_is_no_count_is_a_wrong_value(value: object) -> None:
    with pytest.raises(CheckFailure) as caught:
        whole(value, of="f(x)")
    assert caught.value.outcome is Outcome.WRONG_VALUE


# ── Adapters ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def implementation(**names: Any) -> Implementation:
    """Functions of this file as if a notebook had defined them."""
    return Implementation(LocalBackend(NamespaceSource({"ModelConfig": ModelConfig, **names}), "notebook"))


class Width(IntEnum):
    LLAMA = 11008


@pytest.mark.parametrize(
    ("returned", "value", "noted"),
    [
        (11008, 11008, False),
        (Width.LLAMA, 11008, False),
        (np.int64(11008), 11008, True),
        (11008.0, 11008.0, False),
        (np.float64(11008), 11008.0, False),
        (True, True, False),
        (10**5000, 10**5000, False),
    ],
    ids=["int", "an int's subclass", "NumPy's int", "float", "NumPy's float", "bool", "a very long int"],
)
def test_a_count_keeps_its_type(returned: object, value: object, noted: bool) -> None:
    calls = implementation(swiglu_ffn_dim=lambda d_model: returned)
    got = WidthCalls(calls, "swiglu_ffn_dim")(4096)
    assert type(got) is type(value)
    assert got == value
    assert bool(calls.notes) == noted


@pytest.mark.parametrize("returned", [None, torch.tensor(5), Fraction(5), "5", [5]])
def test_what_is_no_number_is_a_fault_of_the_interface(returned: object) -> None:
    with pytest.raises(StudentFault) as caught:
        WidthCalls(implementation(swiglu_ffn_dim=lambda d_model: returned), "swiglu_ffn_dim")(4096)
    assert caught.value.outcome is Outcome.WRONG_INTERFACE
    assert "swiglu_ffn_dim returned" in caught.value.message


def test_arguments_are_passed_by_position_except_after_the_star() -> None:
    seen: list[object] = []

    def width(first: int, second: int = 7) -> int:
        seen.append((first, second))
        return 1

    def ffn(first: int, second: int, *, gated: bool) -> int:
        seen.append((first, second, gated))
        return 1

    calls = implementation(swiglu_ffn_dim=width, ffn_params=ffn)
    WidthCalls(calls, "swiglu_ffn_dim")(10)
    WidthCalls(calls, "swiglu_ffn_dim")(10, 20)
    FFNCalls(calls, "ffn_params")(10, 20, gated=False)
    assert seen == [(10, 7), (10, 20), (10, 20, False)]


def test_a_missing_function_and_a_missing_config_are_told_by_name() -> None:
    with pytest.raises(StudentFault, match="defines no model_params"):
        CfgCalls(implementation(), "model_params")(LLAMA)
    alone = Implementation(LocalBackend(NamespaceSource({"model_params": lambda cfg: 1}), "notebook"))
    with pytest.raises(StudentFault, match=r"ModelConfig of config\.py is not there"):
        CfgCalls(alone, "model_params")(LLAMA)


def test_a_refusal_is_observed_and_a_stub_stays_a_stub() -> None:
    scalars: dict[str, Scalar] = {"function": "swiglu_ffn_dim", "d_model": 0}

    def answer(error: Exception | None) -> object:
        def width(d_model: int) -> int:
            if error is not None:
                raise error
            return 0

        return implementation(swiglu_ffn_dim=width).call("budget_refusal", {}, scalars).facts["raised"]

    assert answer(None) == ""
    assert answer(TypeError("no")) == "TypeError"
    assert answer(UnicodeError("a ValueError")) == "ValueError"
    with pytest.raises(StudentFault) as caught:
        answer(NotImplementedError("budget: the smallest multiple"))
    assert caught.value.outcome is Outcome.NOT_ATTEMPTED


def test_the_config_is_the_one_that_the_students_package_imports() -> None:
    calls = Implementation(LocalBackend(PackageSource("solutions", ROOT / "solutions"), "solutions"))
    assert CfgCalls(calls, "model_params")(LLAMA) == 8_030_261_248


STRICT = """
from .config import ModelConfig
from exercises.config import ModelConfig as Same

def swiglu_ffn_dim(d_model, multiple_of=256):
    return d_model * multiple_of

def model_params(cfg):
    if not isinstance(cfg, ModelConfig) or ModelConfig is not Same:
        raise TypeError("another ModelConfig")
    return cfg.V * cfg.D if cfg.tie_embeddings is True else -1
"""


@pytest.fixture(scope="module")
def worker() -> Iterator[Implementation]:
    """A submission in a worker."""
    with open_zygote(BEST, ROOT) as zygote:
        backend = WorkerBackend(zygote, {"budget.py": STRICT} | given(ROOT))
        backend.start_test()
        yield Implementation(backend)
        backend.end()


@pytest.mark.parametrize("d_model", [4096, 3 * 2**60 + 1, 2**64, 10**30 + 7, -(10**40)])
def test_numbers_of_any_length_cross_to_a_worker_and_back(worker: Implementation, d_model: int) -> None:
    assert WidthCalls(worker, "swiglu_ffn_dim")(d_model, 256) == d_model * 256


def test_floats_stay_floats_on_the_way_to_a_worker(worker: Implementation) -> None:
    got = WidthCalls(worker, "swiglu_ffn_dim")(4096.0, 1)
    assert type(got) is float


def test_a_worker_builds_the_config_that_the_submission_imports(worker: Implementation) -> None:
    huge: dict[str, Scalar] = {**LLAMA, "V": 10**30, "tie_embeddings": True}
    assert CfgCalls(worker, "model_params")(huge) == 4096 * 10**30


# ── No oracle is an answer ───────────────────────────────────────────────────────────────────────────────────────────


def oracle_functions() -> list[Callable[..., Any]]:
    return [f for _, f in inspect.getmembers(oracles, inspect.isfunction) if f.__module__ == oracles.__name__]


@pytest.mark.parametrize("function", oracle_functions(), ids=lambda function: function.__name__)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_of_the_oracles_answers_a_call(function: Callable[..., Any], name: str) -> None:
    calls: dict[str, Callable[[Implementation], object]] = {
        "swiglu_ffn_dim": lambda student: WidthCalls(student, name)(4096, 256),
        "ffn_params": lambda student: FFNCalls(student, name)(4096, 14336, gated=True),
    }
    call = calls.get(name, lambda student: CfgCalls(student, name)(LLAMA))
    try:
        got = call(implementation(**{name: function}))
    except StudentFault:
        return
    assert got not in (11008, 176_160_768, 41_943_040, 218_112_000, 8_030_261_248)


# ── Probes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_probes_read_the_lines_of_the_ledger_one_by_one() -> None:
    student = Implementation(LocalBackend(PackageSource("solutions", ROOT / "solutions"), "solutions"))
    read: dict[str, list[float]] = {}
    for probe in PROBES["budget"]:
        call: Call = probe.call()
        kind, numbers = probe.read(student.call(call.entry, call.tensors, call.scalars))
        assert kind in ("int", "raised ValueError")
        assert np.array_equal(numbers, numbers.astype(np.float32)), "what is stored is what was read"
        read[probe.name] = numbers.tolist()
    assert read["huge"] == [775811, 36854, 223372, 9]
    assert read["matrices of a block"] == read["matrices of a layer"] == [3]
    assert read["norms of a block"] == read["norms of a layer"] == [2]
    assert read["heads of a block"] == read["heads of a layer"] == [20]
    assert (read["tables"], read["tables when tied"], read["final norm"]) == ([2], [1], [1])
