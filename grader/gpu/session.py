"""A grading session on an accelerator: the GPU tests of five exercises, and their ordinary tests once more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pytest

from grader.job import Job
from grader.results import SubmissionResult
from grader.session import BackendFactory, GradingSession, OnVerdict, Settings, forget
from nanolm.plugin import graded

EXERCISES = ("rmsnorm", "swiglu", "qk_norm", "mhc", "gpt_oss")
"""The exercises that have GPU tests."""


def is_gpu_test(item: pytest.Item) -> bool:
    """Whether a test asks for an accelerator."""
    return "gpu" in getattr(item, "fixturenames", ())


class GpuSession(GradingSession):
    """The session of a device. GPU tests carry no points, so an incomplete set of them takes marks from nobody."""

    def __init__(
        self,
        settings: Settings,
        jobs: Iterable[Job],
        make_backend: BackendFactory,
        on_result: Callable[[SubmissionResult], None],
        device: str,
        *,
        on_verdict: OnVerdict = forget,
        wanted: Callable[[pytest.Item], bool] = lambda item: True,
        on_collected: Callable[[int], None] = lambda count: None,
    ) -> None:
        super().__init__(settings, jobs, make_backend, on_result, on_verdict)
        self._run.accelerator = device
        self._wanted = wanted
        self._on_collected = on_collected

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """GPU tests first, exercise by exercise: what only this machine can tell comes before what any can."""
        super().pytest_collection_modifyitems(items)
        chosen = [item for item in items if self._wanted(item)]
        items[:] = sorted(chosen, key=lambda item: (not is_gpu_test(item), self._position(item)))
        self._on_collected(len(items))

    def _position(self, item: pytest.Item) -> int:
        mark = graded(item)
        return self._settings.exercises.index(mark["exercise"]) if mark else len(self._settings.exercises)

    def _missing_points(self, items: list[pytest.Item]) -> Iterator[str]:
        if not items:
            yield "there is no GPU test among them"
