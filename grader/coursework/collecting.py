"""From a downloaded class to `grading/submitted/<id>/module06`: what was handed in, byte for byte.

Only exercise files and notebooks are taken, through the same reader as everywhere: no link is followed, and an archive
that cannot be read costs its student's submission and nobody else's. A student's folder is written under another name
and renamed when it is whole.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO

from grader.archives import MAX_ARCHIVE_BYTES, ZipTree
from grader.coursework.layouts import Item, item, may_be_folder, owners
from grader.coursework.standing import REMARKS, Course
from grader.coursework.unpacking import BadDownload, unpack
from grader.notebooks.allowance import Allowance
from grader.notebooks.answers import match
from grader.notebooks.apart import cells_of
from grader.notebooks.parsing import NoNotebook
from grader.notebooks.released import Released, is_notebook, released
from grader.places import EXERCISES, exercise_file_for, locate, locate_notebooks
from grader.roster import Student
from grader.sourcetext import Unreadable
from grader.trees import (
    MAX_FILE_BYTES,
    MAX_NOTEBOOK_BYTES,
    FolderTree,
    Tree,
    is_clutter,
    open_regular_file,
    read_regular_file,
)
from nanolm.course import EXERCISES as EXERCISE_FILES
from nanolm.course import exercise_files
from nanolm.untrusted import listed, printable

Opener = Callable[[], AbstractContextManager[tuple[IO[bytes], int]]]
"""Opens a file that was handed in; raises Unreadable."""

TIMESTAMP = "timestamp.txt"
"""Where nbgrader looks for the time of a submission."""
_TIME = re.compile(r"(20\d\d-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d{1,6})?(?: (?:[+-]\d{4}|[A-Za-z]\w*(?:/\w[\w+-]*)*))?")


class CollectError(Exception):
    """What was named cannot be collected from at all."""


@dataclass
class Collected:
    """What a collection came to."""

    students: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    nobodys: list[str] = field(default_factory=list)
    """Entries that belong to nobody on the roster."""


@dataclass
class _Taken:
    """What a student handed in: file names with how to open them, and what is to be told."""

    files: list[tuple[str, Opener]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def collect(course: Course, handed_in: Sequence[Path], roster: Sequence[Student]) -> Collected:
    """Put everything of these folders and archives where nbgrader looks. Raises CollectError."""
    done = Collected()
    for student in roster:
        if not may_be_folder(student.id):
            raise CollectError(
                f"the id {printable(student.id, 60)!r} cannot be a folder's name: use letters, digits, `.`, `_`, `-`, "
                "`@`, beginning with a letter or digit"
            )
    known = released(course.root)
    course.data.mkdir(exist_ok=True)
    with ExitStack() as stack:
        entries: list[tuple[Path, Item]] = []
        for path in handed_in:
            entries += _entries(path, known, course, roster, stack, done)
        whose = owners([one.who for _, one in entries], roster)
        by_student: dict[str, list[tuple[Path, Item]]] = {}
        for path, one in entries:
            if one.who in whose:
                by_student.setdefault(whose[one.who], []).append((path, one))
            else:
                done.nobodys.append(one.entry)
        if done.nobodys:
            done.remarks.append(f"Nobody's, so not collected: {listed(sorted(done.nobodys), most=20)}.")
        for student_id, own in sorted(by_student.items()):
            several = sorted({one.who for _, one in own})
            notes = []
            if len(several) > 1:
                came = listed(several, limit=90)
                done.remarks.append(f"{student_id} is put together from {came}: see that all of it is this student's.")
                # Students read their notes: the names of others are not for them.
                notes = [f"Put together from entries under {len(several)} names."]
            _write_student(course, student_id, own, known, notes)
            done.students.append(student_id)
    return done


def _entries(
    path: Path, known: Released, course: Course, roster: Sequence[Student], stack: ExitStack, done: Collected
) -> list[tuple[Path, Item]]:
    """The entries of a class's folder or archive; what holds one student's files is one entry itself."""
    if not os.path.lexists(path):
        raise CollectError(f"there is nothing at {str(path)!r}")
    if path.is_symlink():
        raise CollectError(f"{str(path)!r} is a symbolic link: name the folder itself")
    folder = path
    if not path.is_dir():
        if path.suffix.casefold() != ".zip":
            return [(path, item(path.name, known))]
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=".collecting-", dir=course.data)))
        try:
            done.remarks += unpack(path, folder)
        except BadDownload as error:
            raise CollectError(str(error)) from error
    inside = _visible(folder)
    while (
        len(inside) == 1 and inside[0].is_dir() and not inside[0].is_symlink() and _is_class(inside[0], known, roster)
    ):
        inside = _visible(inside[0])
    if _is_students(inside, known):
        return [(folder, Item(path.name, path.stem if path.suffix.casefold() == ".zip" else path.name, path.name))]
    found = [(entry, item(entry.name, known)) for entry in inside if _may_be_work(entry)]
    return [(entry, one) for entry, one in found if one.file != TIMESTAMP]


def _visible(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if not is_clutter(entry.name))
    except OSError as error:
        raise CollectError(f"{printable(str(folder))} cannot be listed: {error.strerror}") from error


def _is_class(folder: Path, known: Released, roster: Sequence[Student]) -> bool:
    """Whether the only folder of a download is the class's, and not its only student's."""
    if not folder.is_dir() or folder.is_symlink() or (roster and owners([item(folder.name, known).who], roster)):
        return False
    inside = _visible(folder)
    several = any(entry.is_dir() for entry in inside) or len(inside) > 1
    return several and not item(folder.name, known).shaped and not _is_students(inside, known)


def _is_students(inside: Sequence[Path], known: Released) -> bool:
    """Whether these entries are one student's work rather than a class's: files of the course, and nobody's name."""
    items = [(entry, item(entry.name, known)) for entry in inside]
    if any(one.shaped for _, one in items):
        return False
    return any(
        entry.name in (EXERCISES, "module06", "release") if entry.is_dir() else not one.who for entry, one in items
    )


def _may_be_work(entry: Path) -> bool:
    """Folders, links and files that somebody may have meant as an answer; a grades.csv beside them is none."""
    return entry.is_dir() or entry.is_symlink() or entry.suffix.casefold() not in (".csv", ".html", ".xlsx", ".db")


def _write_student(
    course: Course, student: str, own: Sequence[tuple[Path, Item]], known: Released, notes: Sequence[str]
) -> None:
    target = course.submitted(student)
    part = target.with_name(f".{target.name}.part")
    old = target.with_name(f".{target.name}.old")
    for rest in (part, old):
        shutil.rmtree(rest, ignore_errors=True)
    part.mkdir(parents=True)
    with ExitStack() as stack:
        taken = _Taken(notes=[*notes])
        for path, one in own:
            _take(path, one, taken, stack)
            if one.late:
                taken.notes.append("Canvas marks it as late.")
        _copy(taken, part, known)
        _note_absent(taken, part, known)
    if taken.reasons or taken.notes:
        count = sum(name != TIMESTAMP for name in os.listdir(part))
        told = {"reasons": taken.reasons, "notes": taken.notes, "taken": count}
        (part / REMARKS).write_text(json.dumps(told), encoding="utf-8")
    if target.exists():
        target.rename(old)
    part.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _take(path: Path, one: Item, taken: _Taken, stack: ExitStack) -> None:
    """Note the files of one entry; what cannot be read is a reason."""
    shown = printable(one.file or path.name, 120)
    try:
        if path.is_dir() and not path.is_symlink():
            tree = stack.enter_context(FolderTree(path, [*exercise_files(), EXERCISES]))
            _take_tree(tree, taken)
            _take_timestamp(path, taken)
        elif path.suffix.casefold() == ".zip":
            _take_tree(ZipTree(read_regular_file(path, shown, MAX_ARCHIVE_BYTES), exercise_files()), taken)
        elif is_notebook(path.name):
            taken.files.append((one.file, partial(open_regular_file, path, shown, MAX_NOTEBOOK_BYTES)))
        elif (file := exercise_file_for(one.file, exercise_files())) is not None:
            taken.files.append((file, partial(open_regular_file, path, shown, MAX_FILE_BYTES)))
        elif path.is_symlink():
            taken.reasons.append(f"{shown} is a symbolic link, which is not followed: hand in the files themselves.")
        else:
            taken.reasons.append(f"{shown} is neither a notebook nor an exercise file nor a zip: hand in one of these.")
    except Unreadable as error:
        taken.reasons.append(str(error))


def _take_tree(tree: Tree, taken: _Taken) -> None:
    found = locate(tree, exercise_files())
    notebooks = locate_notebooks(tree)
    taken.files += [(file, partial(tree.open, *place)) for file, place in found.picks.items()]
    taken.files += [(name, partial(tree.open, folder, name)) for folder, name in notebooks]
    taken.reasons += found.problems.values()
    if found.picks or notebooks or found.problems:
        return
    inner = [name for name in tree.listing(()).files if name.casefold().endswith(".zip")]
    if len(inner) == 1 and not isinstance(tree, ZipTree):
        with tree.open((), inner[0]) as (stream, size):
            if size > MAX_ARCHIVE_BYTES:
                raise Unreadable(f"{printable(inner[0], 120)} is larger than {MAX_ARCHIVE_BYTES >> 20} MiB.")
            data = stream.read(MAX_ARCHIVE_BYTES)
        _take_tree(ZipTree(data, exercise_files()), taken)
        return
    taken.reasons.append(" ".join([found.reason or "There is no answer in it.", *tree.notes]))


def _take_timestamp(folder: Path, taken: _Taken) -> None:
    """nbgrader's own collection leaves the time beside the notebooks."""
    for place in (folder, folder / "module06"):
        path = place / TIMESTAMP
        if not path.is_file() or path.is_symlink():
            continue
        try:
            tells_a_time = _tells_a_time(read_regular_file(path, TIMESTAMP, 1024))
        except Unreadable:
            tells_a_time = False
        if tells_a_time:
            taken.files.append((TIMESTAMP, partial(open_regular_file, path, TIMESTAMP, 1024)))
        else:
            taken.notes.append(f"{TIMESTAMP} tells no time and was left out, so this does not count as late.")
        return


def _tells_a_time(said: bytes) -> bool:
    """Whether nbgrader can read it: it ends with an exception on anything else, and opens a zone that is a path."""
    found = _TIME.fullmatch(said.decode("ascii", "replace").strip())
    try:
        return found is not None and bool(datetime.fromisoformat(found[1]))
    except ValueError:
        return False


def _copy(taken: _Taken, part: Path, known: Released) -> None:
    """Write the files: a notebook under the name of the released one, where only one claims it."""
    allowance = Allowance()
    files = []
    for name, opened in taken.files:
        try:
            files.append((name, opened, _right_name(name, opened, known, allowance)))
        except Unreadable as error:
            taken.reasons += [str(error)] if str(error) not in taken.reasons else []
    names = [right for *_, right in files]
    for name, opened, right in files:
        own = _file_name(name)
        target = right if right is not None and (names.count(right) == 1 or right == name) else own
        number = 1
        while (part / target).exists():
            number += 1
            target = f"{Path(own).stem} ({number}){Path(own).suffix}"
        try:
            with opened() as (stream, _), (part / target).open("xb") as copy:
                shutil.copyfileobj(stream, copy, 1 << 20)
        except (Unreadable, OSError) as error:
            (part / target).unlink(missing_ok=True)
            taken.reasons.append(str(error))


def _note_absent(taken: _Taken, part: Path, known: Released) -> None:
    """The released notebook will stand for one that was not handed in, so it is told here that it was not."""
    files = {one.path.name: [EXERCISE_FILES[name].file for name in one.exercises] for one in known.notebooks.values()}
    given = [name for name, own in files.items() if own]
    absent = [name for name in given if not any((part / other).exists() for other in (name, *files[name]))]
    if len(absent) < len(given) and absent and not taken.reasons:
        taken.notes.append(f"Not handed in: {listed(absent, most=10)}.")


def _right_name(name: str, opened: Opener, known: Released, allowance: Allowance) -> str | None:
    """The released notebook's file name, by what is in it, else by its name; None where it holds several or none.

    Raises Unreadable where the submission holds too many of them.
    """
    if not is_notebook(name):
        return name
    allowance.check()
    try:
        with opened() as (stream, size):
            allowance.spend(size)
            cells, _ = cells_of(stream, size)
    except (Unreadable, NoNotebook):
        meant = known.named(name)
        return f"{meant.stem}.ipynb" if meant is not None else None
    found = match(name, cells, known)
    return f"{found[0].released.stem}.ipynb" if len(found) == 1 else None


def _file_name(name: str) -> str:
    """A name that a folder may hold and nbgrader's patterns understand; a long one keeps its ending."""
    plain = re.sub(r"[^\w .()+-]", "_", name).lstrip(". ")
    suffix = "".join(Path(plain[-30:]).suffixes[-2:])
    stem = plain.removesuffix(suffix)[:120].encode()[:200].decode("utf-8", "ignore")
    return f"{stem}{suffix.encode()[-40:].decode('utf-8', 'ignore')}" if stem else "unnamed.ipynb"
