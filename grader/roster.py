"""The roster: who should have handed in. It makes a missing submission a row of its own instead of nothing at all."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.submissions import MAX_NAME
from nanolm.untrusted import printable

ID_HEADS = ("id", "student_id", "student", "login", "username", "email")
NAME_HEADS = ("name", "full_name", "fullname", "student_name")
MAX_BYTES = 4 * 1024 * 1024


class RosterError(ValueError):
    """The roster cannot be used; the text says where and what to do."""


@dataclass(frozen=True)
class Student:
    """One row of the roster."""

    id: str
    name: str


def read_roster(path: Path) -> list[Student]:
    """Students of a CSV file with the columns `id` and `name`; commas, semicolons and tabs are told apart.

    Raises RosterError.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RosterError(f"{path} is larger than a roster can be")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RosterError(f"{path} is not UTF-8: save it as CSV UTF-8") from error
    except OSError as error:
        raise RosterError(f"{path} cannot be read: {error.strerror}") from error
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)  # a cell may hold a line's end
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise RosterError(f"{path} line {reader.line_num} is not CSV: {error}") from error
    if not rows:
        raise RosterError(f"{path} is empty: its first line should be `id,name`")
    heads = [head.strip().casefold().replace(" ", "_") for head in rows[0][1]]
    id_column = _column(heads, ID_HEADS)
    if id_column is None:
        raise RosterError(
            f"{path} has no column `id`: its first line should be `id,name`, it is {printable(first, 80)!r}"
        )
    name_column = _column(heads, NAME_HEADS)
    students: dict[str, Student] = {}
    for number, row in rows[1:]:
        if not any(cell.strip() for cell in row):
            continue
        student_id = row[id_column].strip() if id_column < len(row) else ""
        if not student_id:
            raise RosterError(f"{path} line {number} has no id")
        if _folded(student_id) in students:
            raise RosterError(f"{path} line {number}: the id {printable(student_id, 60)!r} stands there twice")
        name = row[name_column].strip() if name_column is not None and name_column < len(row) else ""
        students[_folded(student_id)] = Student(student_id, name)
    if not students:
        raise RosterError(f"{path} names nobody")
    return list(students.values())


def _column(heads: list[str], wanted: Iterable[str]) -> int | None:
    return next((heads.index(head) for head in wanted if head in heads), None)


def _folded(name: str) -> str:
    """An id or a submission's name as they are compared: as it is shown, in any case, accents written either way."""
    return printable(unicodedata.normalize("NFC", name), MAX_NAME).casefold()


def assign(students: Iterable[Student], submissions: Iterable[str]) -> Mapping[str, Student]:
    """Which submission is whose, by name: the id itself, or the id as a whole word of it (`Doe Jane_4711_file`).

    A submission that fits nobody, or more than one, stays without a student.
    """
    by_id = {_folded(student.id): student for student in students}
    found: dict[str, Student] = {}
    for name in submissions:
        folded = _folded(name)
        fitting = [by_id[folded]] if folded in by_id else _as_word(by_id, folded)
        if len(fitting) == 1:
            found[name] = fitting[0]
    return found


def _as_word(by_id: Mapping[str, Student], folded: str) -> list[Student]:
    # An id may itself hold dots and dashes, so it is looked for in the name, not the name cut into words.
    # The first question is a thousand times quicker, and the answer is nearly always no.
    return [
        student
        for key, student in by_id.items()
        if key in folded and re.search(rf"(?<![^\W_]){re.escape(key)}(?![^\W_])", folded)
    ]
