"""Filling in a gradebook that a learning management system exported: the cells of known students, and nothing else.

A student without a grade keeps the cell as it is: an empty one is not a zero, and a grade that an instructor gave by
hand stays. What was done and what was not is told in remarks.
"""

from __future__ import annotations

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
            before = {row: value.partition("@")[0] for row, value in values.items() if "@" in value}
            if before:
                found.append(Ids(f"{name} before the @", before))
    return found


def fill(sheet: Sheet, rows: Sequence[Row], target: Target, columns: Sequence[Ids], *, scale: bool = False) -> Filled:
    """The sheet with the grades of these rows in it. Raises SheetError where filling it would give wrong grades."""
    factor = _factor(rows, target.out_of, scale)
    by_key: dict[str, list[Row]] = {}
    for row in rows:
        by_key.setdefault(row.key, []).append(row)
    ids, owners, doubtful = _matched(list(by_key), columns)
    filled = Filled("", [f"Students were found by {ids.name}: {len(owners)} of {len(by_key)}."])
    values: dict[tuple[int, int], str] = {}
    changed, kept, absent = [], [], []
    for key, own in by_key.items():
        row = own[0]
        if row.status != GRADED or row.score is None:
            kept.append(f"{key} ({row.status})")
            continue
        if key not in owners:
            absent.append(key)
            continue
        line = owners[key]
        if why := target.locked(line):
            kept.append(f"{key} ({why})")
            continue
        before, after = value_at(sheet.rows[line], target.column), points(row.score * factor)
        values[line, target.column] = after
        if before and _number(before) != float(after):
            changed.append(f"{key} {before} → {after}")
        if target.comments is not None:
            values[line, target.comments] = target.escape(comment(row))
    filled.text = sheet.filled(values)
    filled.remarks.append(f"{sum(column == target.column for _, column in values)} grades were filled in.")
    for names, told in (
        (changed, "Grades that stood there and changed"),
        (kept, "Left as they were"),
        (absent, "Not in the gradebook, so their grades are nowhere"),
        (doubtful, f"Several rows of the gradebook have the same {ids.name}, so none of them was filled"),
    ):
        if names:
            filled.remarks.append(f"{told} ({len(names)}): {listed(names, most=20, limit=90)}.")
    filled.complete = not (kept or absent)
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


def _matched(keys: Sequence[str], columns: Sequence[Ids]) -> tuple[Ids, dict[str, int], list[str]]:
    """The column that finds most students, the sheet's row of each, and values that stand there more than once."""
    best: tuple[Ids, dict[str, int], list[str]] | None = None
    rivals: list[str] = []
    for ids in columns:
        lines: dict[str, list[int]] = {}
        for line, value in ids.values.items():
            if value:
                lines.setdefault(value.casefold(), []).append(line)
        single = {value: found[0] for value, found in lines.items() if len(found) == 1}
        students = assign([Student(value, "") for value in single], keys)
        claimed = [student.id for student in students.values()]
        owners = {key: single[each.id] for key, each in students.items() if claimed.count(each.id) == 1}
        doubtful = [value for value, found in lines.items() if len(found) > 1]
        if best is None or len(owners) > len(best[1]):
            best, rivals = (ids, owners, doubtful), []
        elif owners and len(owners) == len(best[1]) and owners != best[1]:
            rivals.append(ids.name)
    if best is None:
        raise SheetError("the gradebook has no column to find students by: name it with --match COLUMN")
    if not best[1]:
        names = ", ".join(ids.name for ids in columns)
        raise SheetError(
            f"no student was found by {names}: give a --roster whose ids the gradebook has, or name the column with "
            f"--match. The grades are of {listed(keys, most=4)}"
        )
    if rivals:
        raise SheetError(
            f"{best[0].name} and {', '.join(rivals)} find as many students, but others: say which with --match"
        )
    return best


def _number(text: str) -> float | None:
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
