"""Every student's row at the end of the loop: status, points, reason. The gate and grades.csv are made of these."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.coursework.standing import FULL, Standing
from grader.notebooks.released import CHECK
from grader.reports.cells import harmless
from grader.roster import Student
from nanolm.course import EXERCISES
from nanolm.scoreboard import exercise_status
from nanolm.untrusted import printable

if TYPE_CHECKING:
    from grader.coursework.gradebook import Score

GRADED, REVIEW, UNREAD, MISSING, UNKNOWN = "graded", "for review", "ungradable", "missing", "no verdict"
HEADS = (
    "id",
    "name",
    "status",
    "score",
    "max_score",
    "tests",
    "questions",
    "late_penalty",
    *EXERCISES,
    "for_review",
    "notes",
)


@dataclass(frozen=True)
class Row:
    """One student: exactly one status, and never a zero that nobody gave."""

    student: str
    name: str
    status: str
    score: float | None = None
    tests: float | None = None
    questions: float | None = None
    penalty: float = 0.0
    exercises: Mapping[str, float | None] | None = None
    awaiting: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def rows_of(roster: Sequence[Student], standings: Mapping[str, Standing], scores: Mapping[str, Score]) -> list[Row]:
    """A row for everybody on the roster, in its order, and for everybody else who handed in."""
    names = {student.id: student.name for student in roster}
    strangers = [student for student in standings if student not in names]
    rows = []
    for student in [*names, *strangers]:
        notes = ("Nobody on the roster has this id.",) if roster and student not in names else ()
        found = standings.get(student)
        if found is None:
            rows.append(Row(student, names[student], MISSING, notes=("Nothing was handed in under this id.",)))
        else:
            rows.append(_row(names.get(student, ""), found, scores.get(student), notes))
    return rows


def _row(name: str, found: Standing, score: Score | None, notes: tuple[str, ...]) -> Row:
    exercises = {exercise: found.score(exercise) for exercise in EXERCISES}
    statuses = {exercise_status(members) for members in found.verdicts.values()}
    if statuses == {"not_attempted"} and len(found.verdicts) == len(EXERCISES):
        notes = ("Nothing was attempted.", *notes)
    notes = (*notes, *found.submission.notes)
    if found.submission.ungradable is not None:
        return Row(found.student, name, UNREAD, exercises=exercises, notes=(found.submission.ungradable, *notes))
    if found.missing or score is None:
        why = f"no verdict on {', '.join(found.missing)}" if found.missing else "not in the gradebook"
        return Row(found.student, name, UNKNOWN, exercises=exercises, notes=(f"{why}: run it again", *notes))
    unread = [reason for exercise in EXERCISES if (reason := found.why_none(exercise)) is not None]
    tests = sum(points for points in exercises.values() if points is not None)
    return Row(
        found.student,
        name,
        REVIEW if score.awaiting else GRADED,
        max(0.0, score.code + score.questions - score.penalty),
        tests,
        score.questions,
        score.penalty,
        exercises,
        score.awaiting,
        (*dict.fromkeys(unread), *notes),
    )


def summary(rows: Sequence[Row]) -> str:
    """How many of each status, in words."""
    counts = Counter(row.status for row in rows)
    tests = sum(bool(set(row.awaiting) & {f"{name}{CHECK}" for name in EXERCISES}) for row in rows)
    parts = [f"{counts[status]} {status}" for status in (GRADED, REVIEW, UNREAD, MISSING, UNKNOWN) if counts[status]]
    more = f" ({tests} with an exercise that the tests could not grade)" if tests else ""
    return f"{len(rows)} students: {', '.join(parts) or 'nobody'}{more}."


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write the rows, whole or not at all: UTF-8 with a mark for spreadsheets, every cell quoted where it must be."""
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(HEADS)
        for row in rows:
            points = [(row.exercises or {}).get(exercise) for exercise in EXERCISES]
            numbers = [row.score, FULL + 2 * len(EXERCISES), row.tests, row.questions, row.penalty]
            cells = [
                harmless(printable(row.student)),
                harmless(printable(row.name)),
                row.status,
                *map(_number, numbers),
                *map(_number, points),
                " ".join(row.awaiting),
                harmless(printable(" ".join(row.notes), 4000)),
            ]
            writer.writerow(cells)
    os.replace(part, path)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
