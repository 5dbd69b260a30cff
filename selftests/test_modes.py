"""One verdict behind every door: in a worker, in this process from checked texts, and in a notebook's namespace."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.bank import Specimen, read_bank
from grader.job import Job
from grader.pool import grade_all
from grader.results import SubmissionResult
from grader.session import GradingBackend, Settings, run_session
from nanolm.course import GIVEN_FILES
from nanolm.execution import Executor
from nanolm.protocol import Call, Reply
from nanolm.sources import NamespaceSource, TextSource

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = Settings(ROOT, round="modes", secret=b"of no importance")
IN_A_NOTEBOOK = 5
OF_THE_RIGHT = 3
"""Every so many of the right answers and of the pairs; of the mistakes one coding of each."""


def _members() -> list[Specimen]:
    bank = read_bank(ROOT)
    first = {specimen.mistakes: specimen for specimen in reversed(bank) if specimen.kind == "rejected"}
    others = [specimen for specimen in bank if specimen.kind != "rejected"][::OF_THE_RIGHT]
    return [*reversed(first.values()), *others]


BANK = _members()
Summary = dict[str, list[Any]]
"""Verdicts of a submission by test: outcome, score, ids of the mistakes that are named, message."""


class Here:
    """A grading backend without a worker, for texts that do no harm."""

    name = "here"

    def __init__(self, source: TextSource | NamespaceSource) -> None:
        self._executor = Executor(source)

    def run(self, call: Call) -> Reply:
        return self._executor.execute(call)

    def start_test(self, cpu_seconds: float = 0) -> None: ...

    def end(self) -> None: ...


def from_texts(texts: Mapping[str, str]) -> GradingBackend:
    source = TextSource(texts)
    source.install()
    return Here(source)


def from_cells(texts: Mapping[str, str]) -> GradingBackend:
    """Every file of a submission as a cell of one notebook; what the course gives is imported, as it is there."""
    namespace: dict[str, Any] = {"__name__": "exercises.cells", "__package__": "exercises"}
    cells = [text for name, text in texts.items() if name not in GIVEN_FILES]
    for cell in cells:
        exec(compile(cell, "<cell>", "exec", dont_inherit=True), namespace)
    return Here(NamespaceSource(namespace, "\n".join(cells)))


def summary(result: SubmissionResult) -> Summary:
    assert result.ungradable is None, result.ungradable
    return {
        verdict.test: [
            verdict.outcome.value,
            verdict.score,
            sorted(named.id for named in verdict.mistakes),
            verdict.message,
        ]
        for verdict in result.verdicts
    }


def jobs(specimens: list[Specimen]) -> list[Job]:
    return [specimen.job(ROOT) for specimen in specimens]


def some(specimens: list[Specimen]) -> list[Specimen]:
    """A few of every kind and exercise, spread over the bank."""
    return specimens[:: len(specimens) // IN_A_NOTEBOOK][:IN_A_NOTEBOOK]


def grade_locally() -> None:
    """What the throw-away process does: the bank from texts, a few of it from cells; prints summaries as JSON."""
    found: dict[str, dict[str, Summary]] = {}
    makers: dict[str, tuple[Callable[[Mapping[str, str]], GradingBackend], list[Specimen]]] = {
        "texts": (from_texts, BANK),
        "cells": (from_cells, some(BANK)),
    }
    for door, (make, specimens) in makers.items():
        results: list[SubmissionResult] = []
        run_session(SETTINGS, jobs(specimens), make, results.append)
        found[door] = {result.name: summary(result) for result in results}
    print(json.dumps(found))


@pytest.fixture(scope="module")
def local() -> dict[str, dict[str, Summary]]:
    command = [sys.executable, "-c", "from selftests.test_modes import grade_locally; grade_locally()"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Summary]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def remote() -> dict[str, Summary]:
    return {result.name: summary(result) for result in grade_all(jobs(BANK), SETTINGS)}


def test_the_bank_fares_alike_in_workers_and_in_one_process(
    local: dict[str, dict[str, Summary]], remote: dict[str, Summary]
) -> None:
    here = local["texts"]
    assert set(here) == set(remote) == {specimen.name for specimen in BANK}
    assert {name: verdicts for name, verdicts in here.items() if verdicts != remote[name]} == {}
    assert all(remote.values())


def test_the_order_of_a_class_changes_nobodys_verdict(remote: dict[str, Summary]) -> None:
    """What others have answered before decides only which tests need not be run."""
    mixed = list(BANK)
    random.Random(0).shuffle(mixed)
    again = {result.name: summary(result) for result in grade_all(jobs(mixed), SETTINGS)}
    assert list(again) != list(remote)
    assert {name: verdicts for name, verdicts in again.items() if verdicts != remote[name]} == {}


def test_the_comparison_has_something_to_compare(remote: dict[str, Summary]) -> None:
    verdicts = [verdict for tests in remote.values() for verdict in tests.values()]
    assert len({outcome for outcome, *_ in verdicts}) >= 6
    assert len({mistake for _, _, mistakes, _ in verdicts for mistake in mistakes}) >= 40


def test_a_notebook_gets_the_same_verdicts(local: dict[str, dict[str, Summary]], remote: dict[str, Summary]) -> None:
    cells = local["cells"]
    assert len(cells) == IN_A_NOTEBOOK
    assert len({name.partition("/")[0] for name in cells}) >= 2
    for name, verdicts in cells.items():
        # All but the message: it cannot name a line of a file that is none.
        assert {test: verdict[:3] for test, verdict in verdicts.items()} == {
            test: verdict[:3] for test, verdict in remote[name].items()
        }
