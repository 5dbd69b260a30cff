"""The check cell of a notebook: the same tests, messages and diagnosis on the names that its own cells have defined.

from nanolm.notebook import check
check("rmsnorm", globals())
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nanolm.course import EXERCISES, course_above
from nanolm.environment import environment_problem
from nanolm.implementation import LocalBackend
from nanolm.plugin import RUN, Run
from nanolm.sources import NamespaceSource


class _Notebook:
    """Brings a run whose implementation is the notebook's namespace."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._run = Run(None)
        self._run.name = "notebook"
        # IPython keeps the text of every cell that was run in `In`.
        cells = namespace.get("In", [])
        text = "\n\n".join(str(cell) for cell in cells) if isinstance(cells, list) else None
        self._run.implementation.backend = LocalBackend(NamespaceSource(namespace, text), "notebook")

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[RUN] = self._run


def check(exercise: str, namespace: Mapping[str, Any], *, root: Path | None = None) -> bool:
    """Run an exercise's tests on the names of `namespace` and print the scoreboard; True where all pass.

    `root` is the course folder; by default the nearest above the working directory. Raises ValueError for an unknown
    exercise and FileNotFoundError where there is no course.
    """
    if exercise not in EXERCISES:
        raise ValueError(f"unknown exercise {exercise!r}: there are {', '.join(EXERCISES)}")
    if problem := environment_problem():
        raise RuntimeError(problem)
    folder = root or course_above(Path.cwd())
    if folder is None:
        raise FileNotFoundError("there is no course here or above: start the notebook inside the course's folder")
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
    return int(pytest.main(arguments, plugins=[_Notebook(namespace)])) == 0


def start() -> None:
    """Make the course's folder importable and draw figures inside the notebook: the first cell of each calls it."""
    folder = course_above(Path.cwd())
    if folder is None:
        raise FileNotFoundError("there is no course here or above: start the notebook inside the course's folder")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
