"""Runs `nanolm grade` as a command and reads its JSON by the schema of CONTRACT §5, which is written out here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from nanolm.course import EXERCISES, exercise_files

ROOT = Path(__file__).resolve().parent.parent
NANOLM = Path(sys.executable).with_name("nanolm")
ANSWERS = {file: (ROOT / "solutions" / file).read_text(encoding="utf-8") for file in exercise_files()}
STUBS = {file: (ROOT / "exercises" / file).read_text(encoding="utf-8") for file in exercise_files()}
FULL = sum(exercise.points for exercise in EXERCISES.values())

Points = Annotated[float, msgspec.Meta(ge=0, multiple_of=0.5)]
Id = Annotated[str, msgspec.Meta(pattern=r"^[a-z_]+-[a-z0-9-]+$")]
Outcome = Literal[
    "passed", "wrong_value", "wrong_gradient", "wrong_dtype", "wrong_shape", "not_finite", "input_mutated",
    "wrong_error", "wrong_interface", "exception", "timeout", "out_of_memory", "crashed", "not_attempted", "forbidden",
    "not_run_here", "infrastructure",
]  # fmt: skip


class Mistake(msgspec.Struct, frozen=True):
    id: Id
    evidence: Literal["output", "property"]
    message: str


class Test(msgspec.Struct, frozen=True):
    __test__ = False

    id: Annotated[str, msgspec.Meta(pattern=r"^tests/test_\w+\.py::test_\w+")]
    outcome: Outcome
    score: Points
    max_score: Points
    message: str


class Exercise(msgspec.Struct, frozen=True):
    id: str
    score: Points
    max_score: Points
    status: Literal["passed", "failed", "not_attempted"]
    mistakes: list[Mistake]
    tests: list[Test]


class Submission(msgspec.Struct, frozen=True):
    submission: str
    status: Literal["graded", "ungradable"]
    score: Points
    max_score: Points
    seconds: Annotated[float, msgspec.Meta(ge=0)]
    exercises: list[Exercise]
    reason: str | msgspec.UnsetType = msgspec.UNSET

    def exercise(self, name: str) -> Exercise:
        return next(exercise for exercise in self.exercises if exercise.id == name)

    def tests(self) -> Iterator[Test]:
        for exercise in self.exercises:
            yield from exercise.tests

    def outcomes(self, name: str) -> dict[str, str]:
        """Outcome by the test's own name, without its file."""
        return {test.id.rpartition("::")[2]: test.outcome for test in self.exercise(name).tests}


class Grades(msgspec.Struct, frozen=True):
    schema: Literal["nanolm.grade/1"]
    submissions: list[Submission]

    def __getitem__(self, name: str) -> Submission:
        return next(submission for submission in self.submissions if submission.submission == name)

    @property
    def names(self) -> list[str]:
        return [submission.submission for submission in self.submissions]


def nanolm(
    *arguments: str | Path,
    cwd: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    before_exec: Callable[[], None] | None = None,
    seconds: float = 150,
) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "NANOLM"))}
    return subprocess.run(
        [str(NANOLM), *map(str, arguments)],
        cwd=cwd,
        env=inherited | {"PYTHONUTF8": "1"} | dict(environment or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=seconds,
        preexec_fn=before_exec,
    )


def read_grades(path: Path) -> Grades:
    """The grades, without the GPU tests: they are not run here, or end as all others where nothing of a file runs."""
    grades = msgspec.json.decode(path.read_bytes(), type=Grades)
    for submission in grades.submissions:
        for exercise in submission.exercises:
            gpu = [test for test in exercise.tests if "_gpu_" in test.id]
            others = {test.outcome for test in exercise.tests if test not in gpu}
            assert {test.outcome for test in gpu} <= {
                "not_run_here",
                *(others & {"forbidden", "exception", "not_attempted"}),
            }
            assert sum(test.max_score for test in gpu) == 0
            exercise.tests[:] = [test for test in exercise.tests if test not in gpu]
    return grades


def trap(marker: Path) -> str:
    """Python that leaves a mark where it is executed."""
    return f"import pathlib\npathlib.Path({str(marker)!r}).touch()\nprint('a trap was executed')\n"
