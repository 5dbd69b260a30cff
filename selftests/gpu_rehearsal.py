"""GPU tests on the CPU, in this very process: for texts of the bank, which are ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from grader.gpu.session import EXERCISES, GpuSession, is_gpu_test
from grader.job import Job
from grader.results import SubmissionResult
from grader.session import Settings, run_plugin
from nanolm.implementation import LocalBackend
from nanolm.sources import TextSource
from nanolm.verdict import Verdict

ROOT = Path(__file__).resolve().parent.parent


class InProcess(LocalBackend):
    """A backend of the job's kind without a process."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        source = TextSource(texts)
        source.install()
        super().__init__(source, "texts", "cpu")

    def start_test(self, cpu_seconds: float = 0.0) -> None:
        """Nothing is limited."""

    def end(self) -> None:
        """Nothing is to be ended."""


def rehearsed(
    jobs: Sequence[Job], wanted: Callable[[pytest.Item], bool] = is_gpu_test
) -> dict[str, dict[str, Verdict]]:
    """Verdicts of each job by the test's name."""
    results: list[SubmissionResult] = []
    settings = Settings(ROOT, EXERCISES)
    session = GpuSession(settings, jobs, InProcess, results.append, "cpu", wanted=wanted)
    try:
        run_plugin(session, settings)
    finally:
        TextSource({}).uninstall()
    return {result.name: {v.test.rpartition("::")[2]: v for v in result.verdicts} for result in results}
