"""What the cells of a notebook call: the tests on its own names, the course's experiments, parts from elsewhere.

from nanolm.notebook import check
check("rmsnorm", globals())
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from nanolm.course import EXERCISES, GIVEN_FILES, course_above
from nanolm.environment import environment_problem
from nanolm.experiments import EXPERIMENTS
from nanolm.implementation import DEFAULT, LocalBackend
from nanolm.notebook_cells import answer_run, cells_run
from nanolm.notebook_pieces import pieces
from nanolm.plugin import RUN, Run, verdict_of
from nanolm.protocol import Outcome
from nanolm.sources import NamespaceSource, PackageSource
from nanolm.untrusted import printable
from nanolm.verdict import Verdict

__all__ = ["check", "experiment", "pieces", "start"]


def start() -> None:
    """Make `exercises` importable, wherever in the course's folder the notebook lies. The first cell calls it."""
    folder = str(_course(None))
    if folder not in sys.path:
        sys.path.insert(0, folder)


class _Notebook:
    """Brings a run whose implementation is the notebook's namespace, and adds up what its tests earn."""

    def __init__(self, exercise: str, namespace: Mapping[str, Any]) -> None:
        self._run = Run(None)
        self._run.name = "notebook"
        cells = cells_run(namespace)
        text = answer_run(cells, EXERCISES[exercise].names) if cells is not None else None
        self._run.implementation.backend = LocalBackend(NamespaceSource(namespace, text), "notebook")
        self.verdicts: dict[str, Verdict] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[RUN] = self._run

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (verdict := verdict_of(report)) is not None:
            self.verdicts[verdict.test] = verdict


def check(exercise: str, namespace: Mapping[str, Any], *, root: Path | None = None) -> float:
    """Run an exercise's tests on the names of `namespace`, print messages and scoreboard; returns the points earned.

    As the value of a notebook's cell the number is what nbgrader takes for its score. `root` is the course folder; by
    default the nearest above the working directory. Raises ValueError for an unknown exercise, FileNotFoundError where
    there is no course, RuntimeError where the tests could not be run.
    """
    if exercise not in EXERCISES:
        raise ValueError(f"unknown exercise {exercise!r}: there are {', '.join(EXERCISES)}")
    if problem := environment_problem():
        raise RuntimeError(problem)
    folder = _course(root)
    # Where the notebook lies, nothing is left behind.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(folder / ".hypothesis"))
    arguments = [
        str(folder / "tests"),
        f"--rootdir={folder}",
        f"-c{os.devnull}",
        "-q",
        "-rN",
        "-pno:cacheprovider",
        "-Wignore",
        "--noconftest",
        "-pnanolm.plugin",
        f"--exercise={exercise}",
    ]
    notebook = _Notebook(exercise, namespace)
    status = int(pytest.main(arguments, plugins=[notebook]))
    verdicts = notebook.verdicts.values()
    if not verdicts:
        raise RuntimeError(f"no test of {exercise} was run (pytest's exit status is {status}); see above")
    to_do = dict.fromkeys(verdict.message for verdict in verdicts if verdict.outcome is Outcome.NOT_ATTEMPTED)
    for message in to_do:
        print(f"Still to write: {printable(message, 300)}")
    return sum(verdict.score for verdict in verdicts)


def experiment(name: str, namespace: Mapping[str, Any]) -> None:
    """Run one of the course's experiments on the notebook's own code; print its tables, show its figure.

    What it needs beside the notebook's own exercise comes from where `pieces` looks. Where something is still to be
    written, one line says what. Raises ValueError for an unknown experiment.
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"there is no experiment {name!r}: there are {', '.join(EXPERIMENTS)}")
    from nanolm.experiments.command import show
    from nanolm.experiments.lab import Unfinished, run

    try:
        result = run(EXPERIMENTS[name], _Workbench(namespace))
    except Unfinished as unfinished:
        print(f"{name}: {unfinished}")
        return
    show(EXPERIMENTS[name], result, "your notebook")
    if result.panels:
        from IPython.display import Image, display

        from nanolm.experiments.figure import draw

        picture = io.BytesIO()
        draw(result, f"{EXPERIMENTS[name].title} ({EXPERIMENTS[name].section})").savefig(picture, format="png", dpi=90)
        display(Image(data=picture.getvalue()))  # type: ignore[no-untyped-call]


class _Workbench:
    """The notebook's names and, for what it does not define, the student's other work."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace

    def text(self, file: str) -> str | None:
        """No text: an experiment checks nothing."""
        return None

    def names(self, file: str) -> Mapping[str, Any]:
        """The names of one file's exercises, each looked for when it is asked for; a given file's as they stand."""
        if file in GIVEN_FILES:
            start()
            return PackageSource(DEFAULT, _course(None) / DEFAULT).names(file)
        asked = [name for exercise in EXERCISES.values() if exercise.file == file for name in exercise.names]
        return _Found(asked, self._namespace)


class _Found(Mapping[str, Any]):
    def __init__(self, asked: list[str], namespace: Mapping[str, Any]) -> None:
        self._asked, self._namespace = asked, namespace

    def __getitem__(self, name: str) -> Any:
        return self._namespace[name] if name in self._namespace else pieces(name)

    def __contains__(self, name: object) -> bool:
        return name in self._asked

    def __iter__(self) -> Iterator[str]:
        return iter(self._asked)

    def __len__(self) -> int:
        return len(self._asked)


def _course(root: Path | None) -> Path:
    folder = root or course_above(Path.cwd())
    if folder is None:
        raise FileNotFoundError("there is no course here or above: start the notebook inside the course's folder")
    return folder
