"""A submission as grading sees it: the checked text of each exercise file, and why a file is missing from it.

Students' bytes enter the grader here and nowhere else. Nothing is executed, parsed or extracted, no link is followed,
and whatever is wrong with a submission ends as a sentence to the student, never as an exception.
"""

import functools
import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.archives import MAX_ARCHIVE_BYTES, ZipTree
from grader.notebooks.reading import FromNotebooks, Handed, read_notebooks
from grader.notebooks.released import Released, is_notebook
from grader.oddities import odd_notes
from grader.places import ARCHIVE_SUFFIXES, EXERCISES, exercise_file_for, locate, locate_notebooks
from grader.sourcetext import Unreadable, decode_source
from grader.trees import (
    MAX_FILE_BYTES,
    MAX_FOLDER_ENTRIES,
    MAX_NOTEBOOK_BYTES,
    FolderTree,
    Tree,
    is_clutter,
    open_regular_file,
    read_regular_file,
)
from nanolm import course
from nanolm.untrusted import printable

MAX_NAME = 320
"""Characters of a submission's name: more than a file system's longest, so that no two become one by being cut."""

_LEFT_BY_SYSTEMS = frozenset(
    {".DS_Store", ".git", ".gitignore", ".ipynb_checkpoints", "Thumbs.db", "desktop.ini", "__MACOSX", "__pycache__"}
)


class SubmissionUsageError(Exception):
    """The instructor named a class folder that cannot be used; the message says why."""


@dataclass(frozen=True)
class Submission:
    """One student's submission, read and checked."""

    name: str
    path: Path
    files: Mapping[str, str]
    """Exercise file name -> the exact text to execute."""
    problems: Mapping[str, str]
    """Exercise file name -> why it could not be read and what to do. A file in neither mapping was not handed in."""
    notes: tuple[str, ...]
    """Harmless things worth telling."""
    ungradable: str | None
    """The reason when no exercise file can be read at all; set exactly when `files` is empty."""
    notebooks: FromNotebooks = field(default_factory=FromNotebooks, compare=False)
    """What its notebooks came to, for pages that show them."""

    @property
    def digest(self) -> str:
        """SHA-256 of what was handed in: file names, texts and problems, whatever the submission is called."""
        content = [sorted(self.files.items()), sorted(self.problems.items())]
        return hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()


def read_submission(
    path: Path, exercise_files: Sequence[str], *, name: str | None = None, released: Released | None = None
) -> Submission:
    """Reads a folder, a zip, an exercise file or a notebook. Never raises for bad input: that is told in the result.

    `released` are the notebooks that students were given; without them a submitted notebook cannot be told apart.

    `path` itself must not be a symbolic link; the folders above it may be. `config.py` is never read, even if asked
    for.
    """
    shown = name_submissions([path])[0] if name is None else printable(name, 2 * MAX_NAME)
    wanted = [file for file in exercise_files if file not in course.GIVEN_FILES]
    found = FromNotebooks()
    try:
        files, problems, notes = _read(path, wanted, released or Released(), found)
    except Unreadable as error:
        return Submission(shown, path, {}, {}, (), str(error), found)
    ungradable = None if files else " ".join(problems[file] for file in wanted if file in problems)
    return Submission(shown, path, files, problems, (*notes, *odd_notes(files)), ungradable, found)


_Contents = tuple[dict[str, str], dict[str, str], list[str]]


def _read(path: Path, wanted: Sequence[str], released: Released, found: FromNotebooks) -> _Contents:
    """The files, problems and notes of a submission. Raises Unreadable when there is neither a file nor a problem."""
    mode = _mode(path)
    if stat.S_ISLNK(mode):
        raise Unreadable("The submission is a symbolic link, which is not followed: hand in the folder or zip itself.")
    if stat.S_ISDIR(mode):
        with FolderTree(path, [*wanted, EXERCISES]) as tree:
            return _read_tree(tree, wanted, released, found)
    if not stat.S_ISREG(mode):
        raise Unreadable("The submission is neither a folder nor a regular file: hand in a folder or a zip.")
    suffix = path.suffix.casefold()
    if suffix == ".zip":
        return _read_tree(
            ZipTree(read_regular_file(path, "The zip", MAX_ARCHIVE_BYTES), wanted), wanted, released, found
        )
    file = exercise_file_for(path.name, wanted)
    if file is not None:
        return _read_single(path, file)
    if is_notebook(path.name):
        shown = printable(path.name, 120)
        handed = Handed(path.name, lambda: open_regular_file(path, shown, MAX_NOTEBOOK_BYTES))
        return _from_notebooks([handed], released, wanted, ({}, {}, []), found)
    if suffix in ARCHIVE_SUFFIXES:
        raise Unreadable("Of archives only zip is accepted: pack the exercise files as a zip and hand that in.")
    raise Unreadable(
        f"{printable(path.name, 120)} is not an exercise file: hand in a folder or a zip with your files "
        f"({', '.join(wanted)}), or one of these files."
    )


def _mode(path: Path) -> int:
    try:
        return os.lstat(path).st_mode
    except PermissionError:
        raise Unreadable("The submission may not be read (permission denied): make it readable.") from None
    except (OSError, ValueError):  # ValueError: a NUL in the path
        raise Unreadable(f"There is nothing at {printable(str(path))}.") from None


def _read_tree(tree: Tree, wanted: Sequence[str], released: Released, from_notebooks: FromNotebooks) -> _Contents:
    found = locate(tree, wanted)
    notebooks = locate_notebooks(tree)
    if found.reason is not None and not notebooks:
        raise Unreadable(" ".join([found.reason, *tree.notes]))
    files: dict[str, str] = {}
    problems = dict(found.problems)
    notes = [*found.notes, *tree.notes]
    for file, (folder, actual) in found.picks.items():
        try:
            source = decode_source(tree.read(folder, actual), file)
        except Unreadable as error:
            problems[file] = str(error)
        else:
            files[file] = source.text
            notes += source.notes
    if not notebooks:
        return files, problems, notes
    handed = [Handed(name, functools.partial(tree.open, folder, name)) for folder, name in notebooks]
    return _from_notebooks(handed, released, wanted, (files, problems, notes), from_notebooks)


def _from_notebooks(
    handed: Sequence[Handed], released: Released, wanted: Sequence[str], beside: _Contents, found: FromNotebooks
) -> _Contents:
    """What notebooks add to what was read beside them."""
    files, problems, notes = beside
    if not released.notebooks:
        reason = "Notebooks cannot be graded here: this course has released none. Hand in the exercise files."
        if not files and not problems:
            raise Unreadable(reason)
        return files, problems, [*notes, reason]
    read_notebooks(handed, released, wanted, {*files, *problems}, found)
    notes = [*notes, *found.notes]
    if not files and not problems and not found.files and not found.problems:
        raise Unreadable(" ".join([*found.unread, *found.broken.values(), *notes]) or "There is no answer in it.")
    return files | found.files, problems | found.problems, [*notes, *found.unread]


def _read_single(path: Path, file: str) -> _Contents:
    notes = []
    if path.name != file:
        notes.append(f"{printable(path.name, 120)} was graded as {file}: please name it exactly {file}.")
    try:
        source = decode_source(read_regular_file(path, file, MAX_FILE_BYTES), file)
    except Unreadable as error:
        return {}, {file: str(error)}, notes
    return {file: source.text}, {}, [*notes, *source.notes]


def name_submissions(paths: Sequence[Path]) -> list[str]:
    """A unique, printable name for each path, in order: the shortest path tail that tells it from the others.

    A zip goes by its stem, unless a folder beside it has that name. What still coincides (the same path given twice)
    is numbered: `alice`, `alice (2)`.
    """
    # Not resolved: the names are those of the paths as they were given, links above them included.
    full = [Path(os.path.abspath(path)).parts for path in paths]
    short = [_without_zip(parts) for parts in full]
    bearers = {parts: {f for f, s in zip(full, short, strict=True) if s == parts} for parts in set(short)}
    keys = [s if len(bearers[s]) == 1 else f for f, s in zip(full, short, strict=True)]
    distinct = set(keys)
    depth = max((len(key) for key in distinct), default=0)
    counts = [Counter(key[-length:] for key in distinct) for length in range(1, depth + 1)]
    names: list[str] = []
    taken: set[str] = set()
    for key in keys:
        tails = (key[-length:] for length in range(1, len(key) + 1) if counts[length - 1][key[-length:]] == 1)
        name = plain = _shown_name(_joined(next(tails, key)))
        number = 2
        while name in taken:
            name = f"{plain} ({number})"
            number += 1
        taken.add(name)
        names.append(name)
    return names


def _shown_name(name: str) -> str:
    """The name, printable; one of blanks alone is written out, since a row without a name is nobody's."""
    if not name.strip():
        name = "".join(f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}" for char in name)
    return printable(name, MAX_NAME)


def _without_zip(parts: tuple[str, ...]) -> tuple[str, ...]:
    last = Path(parts[-1])
    is_zip = last.suffix.casefold() == ".zip" and last.stem.strip()
    return (*parts[:-1], last.stem) if is_zip else parts


def _joined(parts: tuple[str, ...]) -> str:
    return "/".join(parts).replace("//", "/", 1) if parts[0] == "/" else "/".join(parts)


def class_entries(directory: Path, exercise_files: Sequence[str] | None = None) -> list[Path]:
    """Every submission in a class folder, sorted by name: folders, archives, notebooks, loose exercise files and links.

    What cannot be graded (a link, a RAR file) is listed too, so that the student gets a reason instead of vanishing.
    Hidden entries and unrelated loose files are not. `exercise_files` tells a loose answer from an unrelated file; by
    default it is the course's. Raises SubmissionUsageError when the folder cannot be listed.
    """
    answers = course.exercise_files() if exercise_files is None else exercise_files
    shown = printable(str(directory))
    entries: list[Path] = []
    try:
        with os.scandir(directory) as scan:
            for seen, entry in enumerate(scan):
                if seen >= MAX_FOLDER_ENTRIES:
                    raise SubmissionUsageError(
                        f"{shown} holds more than {MAX_FOLDER_ENTRIES} entries: is it the folder of a class? Split it."
                    )
                if not is_clutter(entry.name) and _is_entry(entry, answers):
                    entries.append(directory / entry.name)
    except (FileNotFoundError, ValueError):
        raise SubmissionUsageError(f"There is no folder {shown}.") from None
    except NotADirectoryError:
        raise SubmissionUsageError(f"{shown} is not a folder: name the folder that holds the submissions.") from None
    except OSError as error:
        raise SubmissionUsageError(f"{shown} cannot be listed ({error.strerror}).") from None
    return sorted(entries)


def passed_over(directory: Path, entries: Sequence[Path]) -> list[str]:
    """Names in a class folder that are none of its submissions, without what systems leave there: worth a look."""
    taken = {entry.name for entry in entries}
    return sorted(name for name in os.listdir(directory) if name not in taken and name not in _LEFT_BY_SYSTEMS)


def _is_entry(entry: os.DirEntry[str], exercise_files: Sequence[str]) -> bool:
    if entry.is_symlink() or entry.is_dir(follow_symlinks=False):
        return True
    is_answer = exercise_file_for(entry.name, exercise_files) is not None
    return is_answer or is_notebook(entry.name) or entry.name.casefold().endswith(ARCHIVE_SUFFIXES)
