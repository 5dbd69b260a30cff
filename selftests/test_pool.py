"""Grading in several processes: order, processes that die, and those that cannot start."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest

from grader.pool import grade_all
from grader.remote import Limits
from grader.results import SubmissionResult
from grader.session import CannotStart, Settings
from selftests.test_session import EXERCISES, REFERENCE, ROOT, job, own_pytest_inside_this_one

__all__ = ["own_pytest_inside_this_one"]

WORKERS = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="workers need Linux's /proc")
QUICK = Settings(ROOT, ("swiglu",), round="self-test")
ENDLESS = REFERENCE.replace(
    "        projected: Tensor", "        while True:\n            pass\n        projected: Tensor"
)


def kill_members() -> None:
    for member in multiprocessing.active_children():
        if member.pid is not None:
            os.kill(member.pid, signal.SIGKILL)


@WORKERS
def test_grading_in_processes_leaves_the_environment_as_it_was() -> None:
    before = dict(os.environ)
    results = grade_all([job(f"number {n}") for n in range(12)], QUICK, processes=2)
    assert [result.score for result in results] == [12.0] * 12
    after = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    assert after == {name: value for name, value in before.items() if not name.startswith("PYTEST_")}


def test_results_keep_the_order_of_the_jobs_and_a_process_that_dies_costs_the_job_it_had() -> None:
    """Twelve jobs in two processes; when eleven are done, whoever still works is killed."""
    jobs = [job(f"student {number}", REFERENCE if number != 3 else ENDLESS) for number in range(12)]
    seen: list[str] = []

    def on_result(result: SubmissionResult) -> None:
        seen.append(result.name)
        if len(seen) == 11:
            kill_members()

    started = time.monotonic()
    patient = Limits(cpu_seconds=60, wall_seconds=60)
    results = grade_all(jobs, QUICK, on_result, processes=2, limits=patient)
    assert time.monotonic() - started < 40
    assert [result.name for result in results] == [one.name for one in jobs]
    assert sorted(seen) == sorted(one.name for one in jobs)
    assert [result.name for result in results if result.ungradable] == ["student 3"]
    assert "ended before this submission was graded" in str(results[3].ungradable)
    assert {result.score for result in results if not result.ungradable} == {12.0}
    assert multiprocessing.active_children() == []


def grade_in_processes_that_die_at_once() -> None:
    """Prints how many are ungradable; the texts are longer than what a pipe holds, and nobody reads them."""
    real = SpawnProcess.start

    def start(member: SpawnProcess) -> None:
        real(member)
        assert member.pid is not None
        os.kill(member.pid, signal.SIGKILL)

    SpawnProcess.start = start  # type: ignore[method-assign]
    jobs = [job(f"student {number}", REFERENCE + "#" * 100_000) for number in range(12)]
    results = grade_all(jobs, QUICK, processes=2)
    print(len(results), sum(result.ungradable is not None for result in results))


@WORKERS
def test_processes_that_die_at_once_leave_everybody_ungradable_and_the_command_ends() -> None:
    code = "from selftests.test_pool import grade_in_processes_that_die_at_once as run; run()"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=60)
    assert done.stdout == "12 12\n", done.stderr


@WORKERS
def test_processes_whose_tests_are_broken_cannot_start(tmp_path: Path) -> None:
    for name in ("tests", "exercises"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests" / "test_modules.py").unlink()
    (tmp_path / "tests" / "test_broken_for_a_self_test.py").write_text("def broken(:\n", encoding="utf-8")
    broken = Settings(tmp_path, EXERCISES)
    with pytest.raises(CannotStart, match="test_broken_for_a_self_test"):
        grade_all([job(f"student {number}") for number in range(12)], broken, processes=2)
    assert multiprocessing.active_children() == []


@WORKERS
def test_a_zygote_that_cannot_start_means_that_grading_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.workers.MODULE", "grader.no_such_module")
    with pytest.raises(CannotStart, match=r"no workers can be started here(?s:.*)no_such_module"):
        grade_all([job("student")], QUICK)
