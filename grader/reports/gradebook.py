"""Filling in a gradebook that a learning management system exported: the cells of known students, and nothing else.

A student without a grade keeps the cell as it is: an empty one is not a zero, and a grade that an instructor gave by
hand stays. What was done and what was not is told in remarks.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.reports.cells import Sheet, SheetError, points, value_at
from grader.reports.rows import GRADED, Row, comment
from grader.roster import Student, assign
from nanolm.untrusted import listed, printable


@dataclass(frozen=True)
class Ids:
    """A column by whose values students may be found: its name, and the value in each student's row of the sheet."""

    name: str
    values: Mapping[int, str]
    of: Callable[[Row], str] = lambda row: row.key
    """What is looked for in it; empty where it can say nothing of a student."""


@dataclass(frozen=True)
class Target:
    """Where grades go in a sheet, and what must not be touched."""

    column: int
    students: Sequence[int]
    """Rows of the sheet that are students'."""
    out_of: float | None
    """The maximum that the system has for the assignment, where the file says it."""
    locked: Callable[[int], str] = lambda row: ""
    """Why the grade of a row must stay as it is; empty where it may change."""
    comments: int | None = None
    escape: Callable[[str], str] = str
    """What the system wants done to a comment."""


@dataclass
class Filled:
    """A filled sheet and what there is to say about it."""

    text: str
    remarks: list[str] = field(default_factory=list)
    complete: bool = True
    """Whether everybody who was handed to it has a grade in it now."""


def ids_of(sheet: Sheet, names: Sequence[str], students: Sequence[int], prefix: str = "") -> list[Ids]:
    """The columns of these names; of e-mail addresses also what stands before the @."""
    header = [name.casefold() for name in sheet.header]
    found = []
    for name in names:
        if name.casefold() in header:
            index = header.index(name.casefold())
            values = {row: value_at(sheet.rows[row], index).removeprefix(prefix).strip() for row in students}
            found.append(Ids(name, values))
            if before := {row: value.partition("@")[0] for row, value in values.items() if "@" in value}:
                found.append(Ids(f"{name} before the @", before))
    return found


def fill(sheet: Sheet, rows: Sequence[Row], target: Target, columns: Sequence[Ids], *, scale: bool = False) -> Filled:
    """The sheet with the grades of these rows in it. Raises SheetError where filling it would give wrong grades."""
    factor = _factor(rows, target.out_of, scale)
    by_key: dict[str, list[Row]] = {}
    for row in rows:
        by_key.setdefault(row.key, []).append(row)
    owners, doubtful, found_by = _matched(by_key, columns)
    filled = Filled("", [f"{len(owners)} of {len(by_key)} students were found, by {found_by}."])
    values: dict[tuple[int, int], str] = {}
    changed, kept, absent, replaced = [], [], [], []
    for key, own in by_key.items():
        row = own[0]
        if row.status != GRADED or row.score is None:
            kept.append(f"{key} ({row.status})")
            continue
        if key not in owners:
            if key not in doubtful:
                absent.append(key)
            continue
        line = owners[key]
        if why := target.locked(line):
            kept.append(f"{key} ({why})")
            continue
        before, after = value_at(sheet.rows[line], target.column), points(row.score * factor)
        values[line, target.column] = after
        if before and number(before) != float(after):
            changed.append(f"{key} {before} → {after}")
        if target.comments is not None:
            values[line, target.comments] = target.escape(comment(row))
            if value_at(sheet.rows[line], target.comments) not in ("", values[line, target.comments]):
                replaced.append(key)
    filled.text = sheet.filled(values)
    filled.remarks.append(f"{sum(column == target.column for _, column in values)} grades were filled in.")
    for names, told in (
        (changed, "Grades that stood there and changed"),
        (kept, "Left as they were"),
        (absent, "Not in the gradebook, so their grades are nowhere"),
        (
            doubtful,
            "They fit several rows of the gradebook, or one with somebody else, so none was filled (--match helps)",
        ),
        (replaced, "Comments that stood there and were replaced"),
    ):
        if names:
            filled.remarks.append(f"{told} ({len(names)}): {listed(names, most=20, limit=90)}.")
    filled.complete = not (kept or absent or doubtful)
    return filled


def _factor(rows: Sequence[Row], out_of: float | None, scale: bool) -> float:
    full = {row.result.max_score for row in rows}
    if len(full) != 1:
        raise SheetError("the grades are out of different maxima: grade all submissions for the same exercises")
    most = full.pop()
    if out_of is None or out_of == most or not most:
        return 1.0
    if not scale:
        raise SheetError(
            f"the gradebook has this assignment out of {points(out_of)} points, these grades are out of "
            f"{points(most)}: mend the gradebook, or say --scale to convert them"
        )
    return out_of / most


def _matched(by_key: Mapping[str, Sequence[Row]], columns: Sequence[Ids]) -> tuple[dict[str, int], list[str], str]:
    """The sheet's row of each key, keys that fit several rows or share one, and in words by what they were found.

    All columns are asked: a student whom two columns find in different rows is not filled in at all.
    """
    hits: dict[str, set[int]] = {}
    found_by: Counter[str] = Counter()
    for ids in columns:
        lines: dict[str, list[int]] = {}
        for line, value in ids.values.items():
            if value:
                lines.setdefault(unicodedata.normalize("NFC", value).casefold(), []).append(line)
        wanted = {ids.of(rows[0]): key for key, rows in by_key.items() if ids.of(rows[0])}
        for name, student in assign([Student(value, "") for value in lines], wanted).items():
            found_by[ids.name] += wanted[name] not in hits
            hits.setdefault(wanted[name], set()).update(lines[student.id])
    claims = Counter(line for found in hits.values() if len(found) == 1 for line in found)
    owners = {key: min(found) for key, found in hits.items() if len(found) == 1 and claims[min(found)] == 1}
    if not owners:
        names = ", ".join(ids.name for ids in columns) or "any column that could be one of ids"
        raise SheetError(
            f"no student was found by {names}: give a --roster whose ids the gradebook has, or name the column with "
            f"--match. The grades are of {listed(by_key, most=4)}"
        )
    words = ", ".join(f"{name} ({count})" for name, count in found_by.items() if count)
    return owners, [key for key in hits if key not in owners], words


def number(text: str) -> float | None:
    """A number of a gradebook's, with a dot or a comma; None where it is none."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def column_named(sheet: Sheet, wanted: str, among: Sequence[int]) -> int:
    """The only column of `among` with this header, its title or the number in its brackets. Raises SheetError."""
    header = sheet.header
    exact = [index for index in among if header[index].casefold() == wanted.strip().casefold()]
    near = [index for index in among if wanted.strip().casefold() in _names(header[index])]
    found = exact or near
    if len(found) == 1:
        return found[0]
    names = listed([header[index] for index in among], most=20, limit=80)
    what = "several assignments" if found else "no assignment"
    raise SheetError(f"the gradebook has {what} called {printable(wanted, 80)!r}: name one of {names}")


def _names(head: str) -> tuple[str, ...]:
    title, _, number = head.rpartition(" (")
    return (title.strip().casefold(), number.removesuffix(")").strip().casefold()) if title and number else ()
