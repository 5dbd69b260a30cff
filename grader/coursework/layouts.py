"""Whose is what in a downloaded class: folders, loose files, Moodle's and Canvas's bulk downloads.

    anna/…, anna.zip                                          a folder or an archive a student
    Doe Jane_4711_assignsubmission_file_/…                    Moodle, in folders
    Doe Jane_4711_assignsubmission_file_01_rmsnorm.ipynb      Moodle, without folders
    doejane_LATE_4711_99_01_rmsnorm-1.ipynb                   Canvas
    anna_01_rmsnorm.ipynb                                     loose notebooks that begin with the id

Names alone are looked at here; nothing is opened.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations

from grader.notebooks.released import Released
from grader.places import ARCHIVE_SUFFIXES, exercise_file_for
from grader.roster import Student, assign
from nanolm.course import exercise_files

_MOODLE = re.compile(r"(?P<who>.+?_[0-9]+)_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)", re.DOTALL)
_CANVAS = re.compile(r"(?P<who>[^_\W]+)(?P<late>_LATE)?_(?P<user>[0-9]+)_(?P<upload>[0-9]+)_(?P<file>.+)", re.DOTALL)
_SAFE = re.compile(r"[^\W_][\w.@-]{0,99}")
"""Ids that may be a folder's name: nbgrader looks for folders by pattern, so no `*`, `?` or `[` may stand in one."""


@dataclass(frozen=True)
class Item:
    """An entry of a class folder: whose it seems to be, and its own name without that."""

    entry: str
    who: str
    file: str
    late: bool = False
    shaped: bool = False
    """Whether the name says whose it is, in one of the shapes that systems give their downloads."""


def item(entry: str, course: Released) -> Item:
    """What a name says. Without one of the known shapes an entry's whole stem is its student."""
    # Canvas first: what stands behind its numbers is the student's own name for a file, and may look like Moodle's.
    if canvas := _CANVAS.fullmatch(entry):
        return Item(entry, f"{canvas['who']}_{canvas['user']}", canvas["file"], canvas["late"] is not None, True)
    if moodle := _MOODLE.fullmatch(entry):
        return Item(entry, moodle["who"], moodle["file"], shaped=True)
    known = course.named(entry)
    if known is not None:
        before = re.search(re.escape(known.stem), entry, re.IGNORECASE)
        assert before is not None
        who = entry[: before.start()].rstrip("_ -")
        who = who if who.casefold() != "copy of" else ""
        return Item(entry, who, entry[before.start() :], shaped=bool(who))
    if exercise_file_for(entry, exercise_files()) is not None:
        return Item(entry, "", entry)
    stem = next((entry[: -len(end)] for end in ARCHIVE_SUFFIXES if entry.casefold().endswith(end)), entry)
    return Item(entry, stem, entry)


def owners(keys: Iterable[str], roster: Sequence[Student]) -> dict[str, str]:
    """Key → student id. Without a roster a key that can name a folder is the id; with one: the id, else the name.

    A key that has one student's id for a word and is another's name (`Anna Berg`, where somebody's id is `anna`) is
    nobody's: a guess would give one the work of the other.
    """
    unique = list(dict.fromkeys(keys))
    if not roster:
        return {key: shaped for key in unique if (shaped := _shaped(key)) is not None}
    found = {key: student.id for key, student in assign(roster, unique).items()}
    by_name = _by_name(roster)
    for key in unique:
        fitting = by_name.get(_folded(re.sub(r"_[0-9]+$", "", key)))
        if (
            fitting is not None
            and found.setdefault(key, fitting) != fitting
            and found[key].casefold() != key.casefold()
        ):
            del found[key]
    return found


def may_be_folder(student_id: str) -> bool:
    """Whether an id can be the name of a student's folder."""
    return _SAFE.fullmatch(student_id) is not None


def _shaped(key: str) -> str | None:
    shaped = re.sub(r"[^\w.@-]+", "-", unicodedata.normalize("NFC", key)).strip("-._")
    return shaped if may_be_folder(shaped) else None


def _folded(name: str) -> str:
    """A name as Canvas writes it: its letters alone, small."""
    return "".join(char for char in unicodedata.normalize("NFC", name).casefold() if char.isalnum())


def _by_name(roster: Sequence[Student]) -> dict[str, str]:
    """Names in any order of their words → id; a name that two students have tells nothing."""
    found: dict[str, set[str]] = {}
    for student in roster:
        words = re.findall(r"[^\W_]+", student.name)[:5]
        for order in permutations(words):
            found.setdefault(_folded("".join(order)), set()).add(student.id)
    return {name: next(iter(ids)) for name, ids in found.items() if len(ids) == 1 and name}
