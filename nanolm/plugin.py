"""The pytest plugin of the graded tests: which implementation runs, verdicts instead of tracebacks, the scoreboard.

A graded test carries `@pytest.mark.graded("<exercise>", points=…, catches=(…))`. Everything else in a run is left to
pytest. Imports torch only when a test needs it.
"""

from __future__ import annotations

import gc
import hashlib
import hmac
import os
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

from nanolm.course import EXERCISES
from nanolm.environment import environment_problem
from nanolm.fixtures import MODULES
from nanolm.implementation import Choice, Implementation, TestCut, choose
from nanolm.protocol import Outcome, StudentFault
from nanolm.timelimit import LIMIT_SECONDS, limit_seconds, remember_terminal, time_limit
from nanolm.verdict import Learned, Verdict

if TYPE_CHECKING:
    import numpy as np

PROPERTY = "nanolm"
"""Key of a verdict among a report's user properties."""

LOCAL_KEY = b"nanolm"
"""Locally the inputs are the same on every machine; a grading run sets a key of its own."""


GPU_FACTOR = 24
"""How much longer than another a GPU test may take in a local run: it compiles, which takes seconds a graph."""

ENOUGH_TIMEOUTS = 2
"""Locally, tests of an exercise that may run into the time limit before its others are timed out without being run."""


class Run:
    """What one pytest run of the graded tests shares. The grader replaces parts of it for its submissions."""

    def __init__(self, choice: Choice | None, device: str = "cpu") -> None:
        self.choice = choice
        self.name = choice.package if choice else "submissions"
        self.device = device
        self.accelerator = "" if device == "cpu" else device
        """Where GPU tests run; empty: they are not run here."""
        self.implementation = Implementation()
        self.key = LOCAL_KEY
        self.graded = False
        self.told: set[str] = set()
        self.timed_out: dict[str, int] = {}
        self.learned: dict[str, Learned] = {}
        self.on_recall: Callable[[Learned], None] = lambda learned: None
        self.limit_seconds = LIMIT_SECONDS

    def connect(self) -> Implementation:
        """The implementation, with the local package behind it unless the run has already put something there."""
        if self.implementation.backend is None:
            from nanolm.implementation import LocalBackend
            from nanolm.sources import PackageSource

            assert self.choice is not None
            source = PackageSource(self.choice.package, self.choice.folder)
            self.implementation.backend = LocalBackend(source, self.choice.package, self.device)
        return self.implementation

    def learned_of(self, exercise: str) -> Learned:
        """What earlier tests of an exercise have shown."""
        return self.learned.get(exercise, Learned())

    def recall(self, exercise: str) -> Learned:
        """The same, for a verdict whose words depend on it: whoever keeps account of that is told."""
        learned = self.learned_of(exercise)
        self.on_recall(learned)
        return learned

    def forget(self) -> None:
        """Another submission comes: nothing that was learned about the last one holds."""
        self.told.clear()
        self.learned.clear()
        self.implementation.notes.clear()

    def seed(self, test: str) -> int:
        """The seed of a test's inputs: a keyed hash of its id."""
        return int.from_bytes(hmac.new(self.key, test.encode(), hashlib.sha256).digest()[:4], "big")


RUN = pytest.StashKey[Run]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--exercise ID`: the graded tests of that exercise only."""
    group = parser.getgroup("nanolm")
    group.addoption(
        "--exercise", action="append", choices=list(EXERCISES), metavar="ID", help="only this exercise's tests"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the exercises that were asked for."""
    asked = config.getoption("--exercise")
    if not asked:
        return
    kept = [item for item in items if (mark := graded(item)) is not None and mark["exercise"] in asked]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and resolve NANOLM_IMPL once; usage errors end the run with exit status 4."""
    config.addinivalue_line(
        "markers", "graded(exercise, points, catches): a graded test, what it is worth and which mistakes it must catch"
    )
    for module in MODULES:
        config.pluginmanager.register(module, module.__name__)
    if RUN not in config.stash:  # the grader and the notebook bring their own
        config.stash[RUN] = _local_run(config)
        remember_terminal()
    if not config.stash[RUN].graded:
        config.pluginmanager.register(Scoreboard(config), "nanolm-scoreboard")


def _local_run(config: pytest.Config) -> Run:
    """The run of the implementation that NANOLM_IMPL names."""
    problem = environment_problem()
    if problem:
        raise pytest.UsageError(problem)
    device = os.environ.get("NANOLM_DEVICE", "cpu")
    if device not in ("cpu", "cuda"):
        raise pytest.UsageError(f"NANOLM_DEVICE={device[:80]!r}: available are cpu and cuda")
    if device == "cuda" and not _cuda_works():
        raise pytest.UsageError("NANOLM_DEVICE=cuda, but PyTorch sees no CUDA device here: unset it to test on the CPU")
    try:
        run = Run(choose(config.rootpath), device)
        run.limit_seconds = limit_seconds()
        return run
    except ValueError as error:  # UnknownImplementation, or a limit that is no number
        raise pytest.UsageError(str(error)) from None


def _cuda_works() -> bool:
    import torch

    return torch.cuda.is_available()


def pytest_report_header(config: pytest.Config) -> str:
    """Which implementation this run tests."""
    run = config.stash[RUN]
    return f"nanolm: testing {run.name}/ on {run.device} (NANOLM_IMPL chooses: exercises or solutions)"


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Before test modules are imported: hypothesis repeats the same examples, without files of its own."""
    from hypothesis import HealthCheck, Phase, settings

    if session.config.getoption("--hypothesis-profile", default=None):
        return
    for name, phases in {
        "nanolm-local": (Phase.explicit, Phase.generate, Phase.shrink),
        "nanolm-graded": (Phase.explicit, Phase.generate),
    }.items():
        settings.register_profile(
            name,
            max_examples=10,
            derandomize=True,
            database=None,
            deadline=None,
            phases=phases,
            report_multiple_bugs=False,
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        )
    settings.load_profile("nanolm-graded" if session.config.stash[RUN].graded else "nanolm-local")


def pytest_collection_finish() -> None:
    """What has been imported stays: hypothesis collects garbage once, and need not walk through torch for it."""
    gc.freeze()


@pytest.fixture(scope="session")
def implementation(pytestconfig: pytest.Config) -> Implementation:
    """The implementation under test; what is behind it is the run's business."""
    return pytestconfig.stash[RUN].connect()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers of this test: fixed locally, drawn from a secret in grading."""
    import numpy as np

    return np.random.default_rng(request.config.stash[RUN].seed(request.node.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Time-limit a graded test and seed its laws."""
    mark = graded(item)
    if mark is None:
        return (yield)
    from nanolm.checks import closeness

    run = item.config.stash[RUN]
    closeness.reset()
    if run.timed_out.get(mark["exercise"], 0) >= ENOUGH_TIMEOUTS:
        raise TestCut(StudentFault(Outcome.TIMEOUT, "not run: other tests of this exercise did not end"))
    function = function_of(item)
    if run.graded and getattr(function, "is_hypothesis_test", False):
        from hypothesis import seed

        seed(run.seed(item.nodeid))(function)
    if run.limit_seconds <= 0:
        return (yield)
    factor = GPU_FACTOR if "gpu" in getattr(item, "fixturenames", ()) else 1
    with time_limit(factor * run.limit_seconds, item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn how a graded test ended into its verdict, and the verdict's message into what pytest shows."""
    mark = graded(item)
    if mark is not None and call.excinfo is not None and _has_words(call.excinfo.value):
        # pytest would parse every file of the traceback, most of a failing run's time, for text that nobody sees.
        item.repr_failure = lambda excinfo, style=None: str(excinfo.value)  # type: ignore[method-assign]
    report = yield
    if mark is None or (call.when != "call" and not (call.when == "setup" and not report.passed)):
        return report
    from nanolm.judge import judge

    run = item.config.stash[RUN]
    verdict = judge(item.nodeid, mark, call, run, drawn=_drawn(item, run))
    report.user_properties.append((PROPERTY, verdict.to_data()))
    if verdict.outcome is Outcome.NOT_RUN_HERE:
        report.outcome = "skipped"
        # The folder for a place: one line in the summary tells of all tests that are not run here for one reason.
        report.longrepr = (str(item.path.parent), None, verdict.message)  # type: ignore[assignment]
    elif verdict.outcome is not Outcome.PASSED:
        report.outcome = "failed"
        if not (verdict.outcome is Outcome.INFRASTRUCTURE and call.excinfo):
            report.longrepr = verdict.message
    return report


def _drawn(item: pytest.Item, run: Run) -> bool:
    """Whether what the test asked came from a seed; an example that is public is asked before a number is drawn."""
    import numpy as np

    rng = getattr(item, "funcargs", {}).get("rng")
    if getattr(function_of(item), "is_hypothesis_test", False):
        return True
    return rng is not None and bool(
        rng.bit_generator.state != np.random.default_rng(run.seed(item.nodeid)).bit_generator.state
    )


def _has_words(error: BaseException) -> bool:
    """Whether a verdict tells all that there is to tell; anything else is a fault of ours, with its traceback."""
    from nanolm.checks import CheckFailure

    return isinstance(error, CheckFailure | StudentFault | TestCut)


def function_of(item: pytest.Item) -> Any:
    """The test function behind an item."""
    return getattr(item, "function", None)


MARK = pytest.StashKey[dict[str, Any] | None]()


def graded(item: pytest.Item) -> dict[str, Any] | None:
    """The graded marker's content: exercise, points, catches; None for a test that is not graded."""
    if MARK not in item.stash:
        item.stash[MARK] = _read_mark(item)
    return item.stash[MARK]


def _read_mark(item: pytest.Item) -> dict[str, Any] | None:
    marker = item.get_closest_marker("graded")
    if marker is None:
        return None
    (exercise,) = marker.args
    catches = tuple(f"{exercise}-{name}" for name in marker.kwargs.get("catches", ()))
    return {"exercise": exercise, "points": float(marker.kwargs["points"]), "catches": catches}


def verdict_of(report: pytest.TestReport) -> Verdict | None:
    """The verdict that a report carries, also one that came from another process."""
    for key, value in report.user_properties:
        if key == PROPERTY and isinstance(value, dict):
            return Verdict.from_data(value)
    return None


def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config) -> tuple[str, str, Any] | None:
    """Tests of an unattempted exercise, and those that an earlier test's fault blocks, are counted and not shown."""
    verdict = verdict_of(report) if report.when in ("call", "setup") else None
    if verdict is None:
        return None
    if verdict.outcome is Outcome.NOT_ATTEMPTED:
        return "not attempted", "n", ("NOT ATTEMPTED", {"yellow": True})
    if verdict.repeats:
        return "blocked by the same fault", "b", ("BLOCKED", {"red": True})
    return None


class Scoreboard:
    """Gathers the verdicts of a run, in whichever process its tests ran, and prints the summary."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.verdicts: dict[str, Verdict] = {}
        self.deselected: dict[str, int] = {}

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Remember that -k or a path left tests of an exercise out: its line then says `partial`."""
        for item in items:
            mark = graded(item)
            if mark:
                self.deselected[mark["exercise"]] = self.deselected.get(mark["exercise"], 0) + 1

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a report's verdict."""
        verdict = verdict_of(report)
        if verdict is not None:
            self.verdicts[verdict.test] = verdict

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print one line an exercise."""
        if not self.verdicts:
            return
        from nanolm.scoreboard import lines

        terminalreporter.section(f"scoreboard: {self.config.stash[RUN].name}", "-")
        for text, style in lines(list(self.verdicts.values()), self.deselected):
            terminalreporter.write_line(text, **style)
