"""A class as registrars see it: one row a student, with a status, and a score where there is one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from grader.grading import MISSING, with_roster
from grader.late import Deadline, LatePolicy, LatePolicyError, hundredths, parse_time
from grader.reports.cells import SheetError, read_sheet, value_at
from grader.results import SubmissionResult
from grader.roster import ID_HEADS, Student, assign
from grader.session import Settings
from nanolm.scoreboard import by_exercise, exercise_status
from nanolm.texts import mistake
from nanolm.untrusted import listed, printable

GRADED, UNGRADABLE, MISSED, SEVERAL = "graded", "ungradable", "missing", "several"
TIME_HEADS = ("submitted", "submitted_at", "submission_time", "created_at")
HOUR_HEADS = ("hours", "extension_hours")


@dataclass(frozen=True)
class Row:
    """One student of the class, or a submission of nobody on the roster."""

    key: str
    """What the student is looked up by: the roster's id, or without a roster the submission's name."""
    name: str
    status: str
    result: SubmissionResult
    seconds_late: float | None = None
    penalty: float = 0.0
    stranger: bool = False
    """Whether there is a roster and nobody on it has this submission."""

    @property
    def score(self) -> float | None:
        """Points after the penalty for lateness; None where there is no grade, which is not a zero."""
        if self.status != GRADED:
            return None
        return min(self.result.score, max(0.0, hundredths(self.result.score - self.penalty)))

    @property
    def reason(self) -> str:
        """Why there is no score."""
        if self.status == SEVERAL:
            return "Several submissions fit this id: decide which counts."
        return self.result.ungradable or ""


def class_rows(
    results: Sequence[SubmissionResult], students: Sequence[Student] = (), deadline: Deadline | None = None
) -> list[Row]:
    """Rows in the roster's order, one for everybody on it; what belongs to nobody comes last."""
    if students:
        present = {name for result in results for name in by_exercise(result.verdicts)}
        results = with_roster(results, students, Settings(Path(), tuple(present)))
        full = max((result.max_score for result in results), default=0.0)
        results = [result if result.max_score else _with_maximum(result, full) for result in results]
    owners = assign(students, [result.name for result in results])
    keys = {result.name: owners[result.name].id if result.name in owners else result.name for result in results}
    count = Counter(keys.values())
    late = _lateness(list(keys.values()), deadline)
    rows = []
    for result in results:
        key = keys[result.name]
        status = UNGRADABLE if result.ungradable else GRADED
        if result.ungradable == MISSING:
            status = MISSED
        elif count[key] > 1:
            status = SEVERAL
        seconds = late.get(key)
        penalty = deadline.policy.penalty(result.score, result.max_score, seconds) if deadline and seconds else 0.0
        stranger = bool(students) and result.name not in owners
        rows.append(Row(key, result.student, status, result, seconds, penalty if status == GRADED else 0.0, stranger))
    return rows


def _with_maximum(result: SubmissionResult, full: float) -> SubmissionResult:
    return replace(result, max_score=full)


def _lateness(keys: Sequence[str], deadline: Deadline | None) -> Mapping[str, float]:
    """Seconds late by row's key; ids of the lists of times are found in it as those of a roster are."""
    if deadline is None:
        return {}
    times = assign([Student(each, "") for each in deadline.submitted], keys)
    more = assign([Student(each, "") for each in deadline.extensions], keys)
    found = {}
    for key, student in times.items():
        hours = deadline.extensions[more[key].id] if key in more else 0.0
        seconds = Deadline(deadline.policy, deadline.due, deadline.submitted, {student.id: hours}).lateness(student.id)
        assert seconds is not None
        found[key] = seconds
    return found


def without_time(rows: Iterable[Row], deadline: Deadline | None) -> list[str]:
    """Keys of graded rows of which nobody knows when they came, where that would matter."""
    if deadline is None or deadline.policy == LatePolicy():
        return []
    return [row.key for row in rows if row.status == GRADED and row.seconds_late is None]


def comment(row: Row) -> str:
    """What a gradebook may tell a student in a line: exercises, root causes, lateness. No student's text is in it."""
    if row.score is None:
        return row.reason if row.status != UNGRADABLE else "Could not be graded: ask your instructors why."
    parts = []
    for exercise, members in by_exercise(row.result.verdicts).items():
        scored = f"{exercise} {sum(v.score for v in members):g} / {sum(v.max_score for v in members):g}"
        causes = [cause for cause in row.result.root_causes if any(cause in v.mistakes for v in members)]
        if exercise_status(members) == "not_attempted":
            scored += " (not attempted)"
        elif causes:
            scored += f" ({'; '.join(mistake(cause.id)['title'] for cause in causes)})"
        parts.append(scored)
    if row.penalty:
        parts.append(f"late: {hundredths(row.penalty):g} points off")
    return ". ".join(parts) + "."


# ── Lists of times and of extensions ─────────────────────────────────────────────────────────────────────────────────


def read_times(path: Path) -> dict[str, datetime]:
    """When each student handed in: a CSV file with the columns `id` and `submitted`. A roster with it will do.

    An empty time is no time. Raises SheetError.
    """
    found = {}
    for line, student, text in _pairs(path, TIME_HEADS):
        try:
            found[student] = parse_time(text)
        except LatePolicyError as error:
            raise SheetError(f"{path} line {line}: {error}") from None
    return found


def read_extensions(path: Path) -> dict[str, float]:
    """Hours more that a student has: a CSV file with the columns `id` and `hours`. Raises SheetError."""
    found = {}
    for line, student, text in _pairs(path, HOUR_HEADS):
        try:
            hours = float(text)
        except ValueError:
            hours = -1.0
        if not 0 <= hours <= 24 * 366:
            raise SheetError(f"{path} line {line}: {printable(text, 40)!r} is no number of hours")
        found[student] = hours
    return found


def _pairs(path: Path, heads: Sequence[str]) -> list[tuple[int, str, str]]:
    """Line, id and value of every row that has a value."""
    sheet = read_sheet(path, [*ID_HEADS, *heads])
    header = [name.casefold().replace(" ", "_") for name in sheet.header]
    id_column = next((header.index(head) for head in ID_HEADS if head in header), None)
    column = next((header.index(head) for head in heads if head in header), None)
    if id_column is None or column is None:
        raise SheetError(f"{path} needs the columns `id` and `{heads[0]}`, its first line has {listed(sheet.header)}")
    found: dict[str, tuple[int, str, str]] = {}
    for number, row in enumerate(sheet.rows[1:], 2):
        student, text = value_at(row, id_column), value_at(row, column)
        if student and text:
            if student.casefold() in found:
                raise SheetError(f"{path} line {number}: the id {printable(student, 60)!r} stands there twice")
            found[student.casefold()] = (number, student, text)
    return list(found.values())
