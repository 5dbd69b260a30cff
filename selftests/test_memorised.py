"""A table of an earlier round's calls and replies earns nothing: what it knows is not what this round asks for.

The reference is graded in one round and all its calls are kept. In another round a call that was seen is answered as it
was then, every other with zeros of the right shape and dtype. No test may be passed that zeros alone do not pass.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.bank import given
from grader.job import Job
from grader.results import SubmissionResult
from grader.session import Settings, run_session
from grader.wire import encode_call
from nanolm.course import EXERCISES
from nanolm.execution import Executor
from nanolm.protocol import Call, Fact, Reply
from nanolm.sources import TextSource

ROOT = Path(__file__).resolve().parents[1]
Table = dict[bytes, Reply]


class Recording:
    """The reference; every call and its reply go into the table."""

    name = "recording"

    def __init__(self, texts: Mapping[str, str], table: Table) -> None:
        source = TextSource(texts)
        source.install()
        self.executor = Executor(source)
        self.table = table

    def run(self, call: Call) -> Reply:
        reply = self.executor.execute(call)
        self.table[encode_call(call, 0)] = copy.deepcopy(reply)
        return reply

    def start_test(self, cpu_seconds: float = 0) -> None: ...

    def end(self) -> None: ...


class Remembering(Recording):
    """Answers what is in the table from it, and everything else with zeros; parameters and shapes are right."""

    added = 0
    """For another fallback than zeros: this much more than is right."""

    def run(self, call: Call) -> Reply:
        if (known := self.table.get(encode_call(call, 0))) is not None:
            return copy.deepcopy(known)
        reply = self.executor.execute(call)
        for values in (reply.tensors, reply.gradients):
            for name, value in values.items():
                if not name.startswith("parameter:"):
                    values[name] = value + self.added if self.added else value * 0
        reply.facts = {name: _else(value, self.added) for name, value in reply.facts.items()}
        return reply


class RememberingAmongTooMuch(Remembering):
    """What is not in the table is three too much: some tests are met by zeros."""

    added = 3


def _else(value: Fact, added: int) -> Fact:
    """Another answer in a fact's place, or, as a fact may be about names, the same."""
    if isinstance(value, list):
        return [_else(part, added) for part in value]
    if isinstance(value, dict):
        return {name: _else(part, added) for name, part in value.items()}
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return type(value)(value + added) if added else type(value)(0)


def graded(backend: type[Recording], table: Table, round_: str) -> dict[str, float]:
    """Points by test."""
    texts = {path.name: path.read_text("utf-8") for path in (ROOT / "solutions").glob("*.py")} | given(ROOT)
    results: list[SubmissionResult] = []
    settings = Settings(ROOT, tuple(EXERCISES), round=round_, secret=b"a secret")
    job = Job("reference", {name: text for name, text in texts.items() if not name.startswith("__")})
    run_session(settings, [job], lambda texts: backend(texts, table), results.append)
    return {f"{verdict.exercise} {verdict.test}": verdict.score for verdict in results[0].verdicts}


def measure() -> None:
    """What the throw-away process does: a session changes the environment and hypothesis's profile."""
    table: Table = {}
    found = {
        "full": graded(Recording, table, "last year"),
        "again": graded(Remembering, table, "last year"),
        "zeros": graded(Remembering, {}, "this year"),
        "table beside zeros": graded(Remembering, table, "this year"),
        "more": graded(RememberingAmongTooMuch, {}, "this year"),
        "table beside more": graded(RememberingAmongTooMuch, table, "this year"),
    }
    print(json.dumps(found))


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[str, float]]:
    command = [sys.executable, "-c", "from selftests.test_memorised import measure; measure()"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, dict[str, float]] = json.loads(ran.stdout.splitlines()[-1])
    return found


def test_the_table_is_one(measured: dict[str, dict[str, float]]) -> None:
    """In its own round it earns everything: what is measured below is the round, not a table that answers nothing."""
    assert sum(measured["full"].values()) == sum(measured["again"].values()) == 100
    assert 0 < sum(measured["zeros"].values()) < 20


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_table_earns_nothing_in_another_round(exercise: str, measured: dict[str, dict[str, float]]) -> None:
    mine = [test for test in measured["zeros"] if test.startswith(f"{exercise} ")]
    assert mine
    for table, alone in (("table beside zeros", "zeros"), ("table beside more", "more")):
        assert [test for test in mine if measured[table][test] > measured[alone][test]] == []
