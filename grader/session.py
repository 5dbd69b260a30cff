"""Grading: one pytest session in a trusted process, its tests collected once, each submission swapped in behind them.

This process holds tests, oracles, seeds and points. A submission runs in workers (`grader.remote`); nothing of it is
imported here.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Protocol

import pytest

from grader.behaviours import AskedBackend, Behaviours, Walk
from grader.job import EXERCISE_SECONDS, Job, SubmissionBackend
from grader.results import SubmissionResult, has_infrastructure
from grader.sandbox import BEST
from grader.together import settled
from nanolm.course import EXERCISES, Exercise
from nanolm.plugin import RUN, Run, graded, verdict_of
from nanolm.protocol import Backend, Outcome
from nanolm.verdict import Learned, Verdict

LEAST_SECONDS = 0.5
"""CPU time that a test gets all the same: a function that ends is right, whatever another one has used up."""

UNUSED = ("logging", "unraisableexception", "threadexception", "faulthandler", "debugging", "stepwise", "setuponly")
"""Parts of pytest that act around every test and that nothing here needs; `logging` alone takes a third of its time."""

ORDINARY_SECONDS = 2.0
"""What a test may take, on a busy machine, before its time counts as lost."""


class CannotStart(RuntimeError):
    """The tests could not be collected, or the environment cannot grade at all (exit status 4)."""


class GradingBackend(Backend, Protocol):
    """A backend whose student code can be given a new budget for a test and be ended."""

    def start_test(self, cpu_seconds: float = math.inf) -> None:
        """A new test begins: it has its full time, or what its exercise has left if that is less."""

    def end(self) -> None:
        """No more calls: end whatever runs the student's code."""


BackendFactory = Callable[[Mapping[str, str]], GradingBackend]

OnVerdict = Callable[[Job, Verdict, int], None]
"""Takes each verdict that stands, as soon as it does, with the seed of its inputs."""


def forget(job: Job, verdict: Verdict, seed: int) -> None:
    """Keep no record of a verdict."""


@dataclass(frozen=True)
class Settings:
    """How a session grades."""

    root: Path
    exercises: tuple[str, ...] = tuple(EXERCISES)
    round: str = "practice"
    secret: bytes = b""
    isolation: str = BEST
    """A level, or `best`; the `nanolm grade` command asks for `full` unless it is told otherwise."""

    @property
    def key(self) -> bytes:
        """The key of this round's inputs."""
        return hmac.new(self.secret or b"no secret", self.round.encode(), hashlib.sha256).digest()


class GradingSession:
    """The pytest plugin that runs the collected tests once for each job."""

    def __init__(
        self,
        settings: Settings,
        jobs: Iterable[Job],
        make_backend: BackendFactory,
        on_result: Callable[[SubmissionResult], None],
        on_verdict: OnVerdict = forget,
    ) -> None:
        self._settings = settings
        self._on_verdict = on_verdict
        self._job: Job | None = None
        self._jobs = jobs
        self._make_backend = make_backend
        self._on_result = on_result
        self._verdicts: dict[str, Verdict] = {}
        self._behaviours: dict[str, Behaviours] = {}
        self._walk: Walk | None = None
        self._run = Run(None)
        self._run.key = settings.key
        self._run.graded = True
        self._run.limit_seconds = 0
        self._run.on_recall = self._recalled
        self.problems: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Bring the run that the nanolm plugin would otherwise make."""
        config.stash[RUN] = self._run

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A test file that cannot be collected means that nothing can be graded."""
        if report.failed:
            self.problems.append(f"{report.nodeid}: {report.longreprtext}")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the graded tests of the exercises that were asked for, those of one exercise together."""
        kept = [item for item in items if _exercise(item) in self._settings.exercises]
        items[:] = sorted(kept, key=lambda item: self._settings.exercises.index(_exercise(item) or ""))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a verdict as its test ends; a failure outside the call itself is ours."""
        verdict = verdict_of(report)
        if verdict is not None:
            self._conclude(verdict)

    def _recalled(self, learned: Learned) -> None:
        if self._walk is not None:
            self._walk.recalls()

    def _conclude(self, verdict: Verdict) -> None:
        self._verdicts[verdict.test] = verdict
        if verdict.outcome is not Outcome.TIMEOUT:  # that one stands after a second try only
            self._stands(verdict)

    def _stands(self, verdict: Verdict) -> None:
        assert self._job is not None
        self._on_verdict(self._job, verdict, self._run.seed(verdict.test))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Grade every job."""
        self.problems += self._missing_points(session.items)
        if self.problems:
            return True
        for job in self._jobs:
            self._on_result(self._grade(session, job))
        return True

    def _missing_points(self, items: list[pytest.Item]) -> Iterator[str]:
        """Exercises whose tests are not all there: grading with them would take marks from everybody."""
        for name in self._settings.exercises:
            points = sum(_points(item) for item in items if _exercise(item) == name)
            if points != EXERCISES[name].points:
                yield f"the tests of {name} are worth {points:g} points, not {EXERCISES[name].points:g}"

    def _grade(self, session: pytest.Session, job: Job) -> SubmissionResult:
        start = time.perf_counter()
        wanted = [item for item in session.items if job.exercises is None or _exercise(item) in job.exercises]
        full = sum(_points(item) for item in wanted)
        if job.ungradable:
            return SubmissionResult(job.name, (), full, 0.0, job.notes, job.ungradable)
        self._job = job
        self._verdicts = dict(self._known(job, wanted))
        unknown = [item for item in wanted if item.nodeid not in self._verdicts]
        self._try_items(session, job, unknown, recall=True)
        troubled = [item for item in unknown if has_infrastructure([self._verdict(item)])]
        if troubled:
            self._try_items(session, job, troubled)
        self._confirm_timeouts(session, job, unknown)
        verdicts = settled([self._verdict(item) for item in wanted])
        reason = None
        if has_infrastructure(verdicts):
            first = next(verdict for verdict in verdicts if verdict.outcome is Outcome.INFRASTRUCTURE)
            reason = f"grading failed twice on our side, not on the student's: {first.message or first.test}"
        isolation = "" if unknown else job.known_isolation
        return SubmissionResult(
            job.name, verdicts, full, time.perf_counter() - start, job.notes, reason, isolation=isolation
        )

    def _known(self, job: Job, wanted: list[pytest.Item]) -> Iterator[tuple[str, Verdict]]:
        """Known verdicts of exercises that are known whole: a part of one would be run without its beginning."""
        for name in dict.fromkeys(map(_exercise, wanted)):
            tests = [item.nodeid for item in wanted if _exercise(item) == name]
            if all(test in job.known for test in tests):
                yield from ((test, job.known[test]) for test in tests)

    def _confirm_timeouts(self, session: pytest.Session, job: Job, items: list[pytest.Item]) -> None:
        """A machine may have been slow just then: the first timed-out test of an exercise is tried once more, alone.

        Where that ends in time, all of them are tried again.
        """
        slow = [item for item in items if self._verdict(item).outcome is Outcome.TIMEOUT]
        for name in dict.fromkeys(map(_exercise, slow)):
            first, *others = [item for item in slow if _exercise(item) == name]
            self._try_items(session, job, [first])
            if self._verdict(first).outcome is not Outcome.TIMEOUT and others:
                self._try_items(session, job, others)
        for item in slow:
            if self._verdict(item).outcome is Outcome.TIMEOUT:
                self._stands(self._verdict(item))

    def _try_items(self, session: pytest.Session, job: Job, items: list[pytest.Item], *, recall: bool = False) -> None:
        """Run tests; an error of our own outside them costs this submission its grade, and no other."""
        if not items:
            return
        try:
            self._run_items(job, items, recall=recall)
        except Exception as error:
            for item in items:
                if item.nodeid not in self._verdicts:
                    self._verdicts[item.nodeid] = self._missing(item, f"the grader itself failed: {error!r}"[:500])
        # pytest believes that a test is still set up when an error left it in the middle.
        session._setupstate.teardown_exact(None)

    def _run_items(self, job: Job, items: list[pytest.Item], *, recall: bool) -> None:
        backend = self._make_backend(job.texts)
        self._run.forget()
        try:
            for exercise, tests in groupby(items, _exercise):
                backend.end()
                self._run.implementation.notes.clear()
                self._run_exercise(job, backend, EXERCISES[exercise or ""], list(tests), recall=recall)
        finally:
            backend.end()

    def _run_exercise(
        self, job: Job, backend: GradingBackend, exercise: Exercise, items: list[pytest.Item], *, recall: bool
    ) -> None:
        """Run an exercise's tests; one that the submission answers as an earlier one did has its verdict already."""
        self._run.implementation.backend = submission = SubmissionBackend(job, backend)
        # Where there is no text to run, the file is what decides, not what comes back.
        recall = recall and exercise.file in job.texts and exercise.file not in job.problems
        asked = backend if recall and isinstance(backend, AskedBackend) else None
        tree = self._behaviours.setdefault(exercise.id, Behaviours())
        notes = self._run.implementation.notes
        learned = partial(self._run.learned_of, exercise.id)
        lost = 0.0
        for item, following in zip(items, [*items[1:], None], strict=True):
            left = EXERCISE_SECONDS - lost
            submission.time_is_up = left < LEAST_SECONDS  # a clock's tick is not worth one more wait
            backend.start_test(max(left, LEAST_SECONDS))
            began = time.perf_counter()
            self._walk = walk = Walk(tree, item.nodeid, asked, learned(), notes) if asked else None
            submission.inner = walk or backend
            if walk is None or not self._knows(walk, exercise.id):
                _run_test(item, following)
                if walk is not None:
                    walk.learn(self._verdict(item), learned(), notes)
                    if walk.disturbed:
                        asked = None  # from here on it counts what was lost, and what is not called again
            verdict = self._verdict(item)
            spent = time.perf_counter() - began  # a verdict's own time leaves out what was asked on the way down
            if verdict.outcome is Outcome.TIMEOUT:
                lost += max(spent, EXERCISE_SECONDS / 10)
            else:
                lost += max(0.0, spent - ORDINARY_SECONDS)

    def _knows(self, walk: Walk, exercise: str) -> bool:
        """Whether a test's verdict follows from answers alone that it had before; it is given then."""
        began = time.perf_counter()
        found = walk.down()
        if found is None:
            return False
        if found.learned is not None:
            self._run.learned[exercise] = found.learned
        self._run.implementation.notes[:] = found.notes
        self._conclude(replace(found.verdict, seconds=time.perf_counter() - began))
        return True

    def _verdict(self, item: pytest.Item) -> Verdict:
        """The verdict of a test; one that left none is a failure of ours, and earns nothing."""
        return self._verdicts.get(item.nodeid) or self._missing(item, "the test left no verdict")

    @staticmethod
    def _missing(item: pytest.Item, why: str) -> Verdict:
        return Verdict(item.nodeid, _exercise(item) or "", Outcome.INFRASTRUCTURE, 0.0, _points(item), why)


def _run_test(item: pytest.Item, following: pytest.Item | None) -> None:
    """Run one test; what earlier ones set up for tests that were not run in the end is torn down first."""
    item.session._setupstate.teardown_exact(item)
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _exercise(item: pytest.Item) -> str | None:
    mark = graded(item)
    return mark["exercise"] if mark else None


def _points(item: pytest.Item) -> float:
    mark = graded(item)
    return mark["points"] if mark else 0.0


def run_session(
    settings: Settings,
    jobs: Iterable[Job],
    make_backend: BackendFactory,
    on_result: Callable[[SubmissionResult], None],
    on_verdict: OnVerdict = forget,
) -> None:
    """Collect the tests once and grade every job; raises CannotStart where there is nothing to grade with."""
    run_plugin(GradingSession(settings, jobs, make_backend, on_result, on_verdict), settings)


def run_plugin(plugin: GradingSession, settings: Settings) -> None:
    """Run the tests under a session of one's own."""
    # Nothing of the environment or of a configuration file decides how we grade.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)
    arguments = [
        str(settings.root / "tests"),
        f"--rootdir={settings.root}",
        f"-c{os.devnull}",
        "-pnanolm.plugin",
        "-pno:cacheprovider",
        "-pno:terminal",
        "-pno:junitxml",
        *(f"-pno:{name}" for name in UNUSED),
        "--noconftest",
        "--capture=no",
        "-Wignore",
    ]
    status = pytest.main(arguments, plugins=[plugin])
    if status == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if plugin.problems:
        where = settings.root / "tests"
        raise CannotStart(f"the tests in {where} cannot be used: " + "; ".join(plugin.problems)[:2000])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise CannotStart(f"the tests' run broke off (pytest's exit status {int(status)})")
