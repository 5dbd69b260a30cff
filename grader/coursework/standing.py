"""Where a collected submission stands: what was read of it, and the ledger's verdicts, exercise by exercise.

nbgrader's plugins and `nanolm course` ask here, so every page shows the same. A verdict that no ledger has is given by
`nanolm course verdicts` in a process of its own, in the usual workers.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader.circumstances import circumstances
from grader.ledger import Circumstances, Known, Ledger
from grader.notebooks.reading import wins
from grader.notebooks.released import ASSIGNMENT, released
from grader.results import SubmissionResult
from grader.sandbox import acceptable
from grader.session import Settings
from grader.sourcetext import Unreadable
from grader.submissions import Submission, read_submission
from grader.together import settled
from grader.trees import read_regular_file
from nanolm.course import EXERCISES, exercise_files
from nanolm.untrusted import printable
from nanolm.verdict import Verdict

REMARKS = "collected.json"
"""What collecting had to tell of a submission: a file beside it."""
MAX_REMARKS = 64 * 1024
PATIENCE_SECONDS = 60.0
"""How long a submission that could not be graded is not tried again."""
FULL = sum(exercise.points for exercise in EXERCISES.values())


@dataclass(frozen=True)
class Course:
    """A course that is graded with nbgrader: its folder and how its verdicts are given."""

    root: Path
    round: str = ASSIGNMENT
    isolation: str = "full"

    @property
    def settings(self) -> Settings:
        """As the grading session takes them; the secret is in NANOLM_SECRET."""
        return Settings(
            self.root, tuple(EXERCISES), self.round, os.environ.get("NANOLM_SECRET", "").encode(), self.isolation
        )

    @property
    def data(self) -> Path:
        """The folder of the students' data, which git ignores."""
        return self.root / "grading"

    @property
    def ledger(self) -> Path:
        """Every verdict of the course."""
        return self.data / "ledger.db"

    def submitted(self, student: str) -> Path:
        """What was collected of a student."""
        return self.data / "submitted" / student / ASSIGNMENT


@dataclass(frozen=True)
class Standing:
    """What is known of one submission."""

    student: str
    submission: Submission
    verdicts: Mapping[str, tuple[Verdict, ...]]
    """Those of each exercise that has all of them."""
    isolation: str = ""
    trouble: str = ""
    """Why grading ended without a verdict, in the grader's words."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Exercises that ought to have verdicts and have none."""
        return tuple(name for name in EXERCISES if name not in self.verdicts and self.why_none(name) is None)

    def why_none(self, exercise: str) -> str | None:
        """Why an exercise can have no verdict: what was handed in for it cannot be read."""
        if self.submission.ungradable is not None:
            return self.submission.ungradable
        file = EXERCISES[exercise].file
        return self.submission.problems.get(file) or self.submission.notebooks.unread_exercises.get(exercise)

    def score(self, exercise: str) -> float | None:
        """Points earned, or None where a person has to look."""
        if exercise not in self.verdicts or self.why_none(exercise) is not None:
            return None
        return sum(verdict.score for verdict in self.verdicts[exercise])

    @property
    def result(self) -> SubmissionResult:
        """As every report takes it."""
        verdicts = tuple(verdict for name in EXERCISES for verdict in self.verdicts.get(name, ()))
        ungradable = self.submission.ungradable
        if ungradable is None and self.missing:
            ungradable = f"There is no verdict on {', '.join(self.missing)}: run it again."
        return SubmissionResult(
            self.student, verdicts, FULL, notes=self.submission.notes, ungradable=ungradable, isolation=self.isolation
        )


def standing(course: Course, student: str) -> Standing:
    """What is known of a student's collected submission, read from the folder and the ledger as they are now."""
    submission = read(course, student)
    known = _known(course, submission.digest)
    verdicts = {}
    for name, exercise in EXERCISES.items():
        members = [verdict for verdict in known.verdicts.values() if verdict.exercise == name]
        if sum(verdict.max_score for verdict in members) == exercise.points:
            verdicts[name] = tuple(members)
    whole = settled([verdict for members in verdicts.values() for verdict in members])
    verdicts = {name: tuple(verdict for verdict in whole if verdict.exercise == name) for name in verdicts}
    return Standing(student, submission, verdicts, known.isolation.value if verdicts else "")


_tried: dict[tuple[Course, str, str], tuple[float, str]] = {}
"""Submissions that were graded in vain, with when and why: their other notebooks need not try again at once."""


def ensure(course: Course, student: str) -> Standing:
    """The same, graded first where verdicts are missing; `missing` and `trouble` tell if that did not work."""
    found = standing(course, student)
    if not found.missing:
        return found
    key = (course, student, found.submission.digest)
    when, trouble = _tried.get(key, (0.0, ""))
    if time.monotonic() - when > PATIENCE_SECONDS or not when:
        command = [sys.executable, "-P", "-m", "nanolm.cli", "course", "verdicts", "--course", str(course.root)]
        command += ["--round", course.round, "--isolation", course.isolation, "--student", student]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        found = standing(course, student)
        trouble = printable(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "", 500)
        if found.missing:
            _tried[key] = (time.monotonic(), trouble)
    return replace(found, trouble=trouble if found.missing else "")


def read(course: Course, student: str) -> Submission:
    """A student's collected submission; read once as long as none of its files changes."""
    folder = course.submitted(student)
    try:
        with os.scandir(folder) as entries:
            seen = sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
    except OSError:
        seen = []
    marks = tuple((name, status.st_mtime_ns, status.st_size, status.st_ino) for name, status in seen)
    return _read(folder, printable(student), course.root, marks)


@functools.lru_cache(maxsize=512)
def _read(folder: Path, name: str, root: Path, marks: object) -> Submission:
    submission = read_submission(folder, exercise_files(), name=name, released=released(root))
    reasons, notes, taken = _remarks(folder)
    found = submission.notebooks
    answered = any(one.touched for one in found.notebooks.values()) or set(submission.files) - set(found.files)
    if not taken or (not answered and (found.broken or found.unread)):
        reasons = [*reasons, *found.broken.values(), *found.unread]
    else:
        reasons, notes = [], [*reasons, *notes]
    if reasons:  # the rest is what was released, put there so that nbgrader finds every notebook
        return replace(submission, files={}, problems={}, ungradable=" ".join(reasons))
    # Beside a .py file an untouched notebook is the released one, which was put there for nbgrader alone.
    ours = {
        wins(EXERCISES[name].file, one) for one in found.notebooks.values() if not one.touched for name in one.answers
    }
    return replace(submission, notes=(*(note for note in submission.notes if note not in ours), *notes))


def _remarks(folder: Path) -> tuple[list[str], list[str], int]:
    """Reasons, notes and how many files were taken; nothing where the file says nothing that can be used."""
    try:
        said = json.loads(read_regular_file(folder / REMARKS, REMARKS, MAX_REMARKS))
        reasons, notes = ([printable(str(line), 2000) for line in said[name][:20]] for name in ("reasons", "notes"))
        return reasons, notes, int(said["taken"])
    except (Unreadable, ValueError, TypeError, LookupError, RecursionError):
        return [], [], 1


def _known(course: Course, digest: str) -> Known:
    settings = course.settings
    least = acceptable(settings.isolation)[-1]
    if not course.ledger.is_file():
        return Known({}, least)
    with Ledger(course.ledger) as ledger:
        return ledger.known(digest, _circumstances(settings), least)


@functools.lru_cache(maxsize=4)
def _circumstances(settings: Settings) -> Circumstances:
    return circumstances(settings)
