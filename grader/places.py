"""Finds the exercise files in a submission: where they may lie, and which near names are taken for them.

Looked at, in this order: the top, `exercises/`, and, when neither holds one, the only sub-folder and its `exercises/`.
"""

import functools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from grader.notebooks.released import is_notebook
from grader.sourcetext import Unreadable
from grader.trees import Folder, Listing, Tree, shown_path
from nanolm.course import GIVEN_FILES

EXERCISES = "exercises"
ARCHIVE_SUFFIXES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
RELEASED = ("release", "module06")
"""Where the notebooks lie in a student's copy of the course."""

_INERT_NAMES = frozenset({"conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.ini"})
_INERT_SUFFIXES = (".pth", ".so", ".pyd", ".pyc")


@dataclass
class Located:
    """Where each exercise file of a submission lies, and what there is to say about the search."""

    picks: dict[str, tuple[Folder, str]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    reason: str | None = None
    """Why nothing was found, when nothing was."""

    @property
    def empty(self) -> bool:
        """Whether no exercise file was found, not even a doubtful one."""
        return not self.picks and not self.problems


@dataclass(frozen=True)
class _Place:
    folder: Folder
    listing: Listing


def exercise_file_for(name: str, exercise_files: Collection[str]) -> str | None:
    """The exercise file that `name` stands for: itself, else the one it resembles (`Modules.py`, `modules (1).py`)."""
    if name in exercise_files:
        return name
    return next((file for file in exercise_files if _near(file).fullmatch(name)), None)


@functools.cache
def _near(file: str) -> re.Pattern[str]:
    """Names that browsers, operating systems and editors make out of `file`: other case, a number, a copy, `.txt`."""
    stem = re.escape(file.removesuffix(".py"))
    gap = "[ _\u2013\u2014-]"
    number = rf"{gap}{{0,3}}\([0-9]{{1,3}}\)|{gap}[0-9]{{1,3}}"
    copy = rf"{gap}{{1,3}}(?:copy|копия)(?:{gap}?\(?[0-9]{{1,3}}\)?)?"
    return re.compile(rf"(?:copy of )?{stem}(?:{number}|{copy})?\.py(?:\.txt|\.py)?", re.IGNORECASE)


def locate(tree: Tree, exercise_files: Sequence[str]) -> Located:
    """Searches a submission for `exercise_files`. Raises Unreadable when its top cannot be listed."""
    found = Located()
    blocked: list[str] = []
    top = _Place((), tree.listing(()))
    places = [top, *_open_exercises(tree, top, blocked)]
    _choose(places, exercise_files, found)
    if len(top.listing.folders) == 1:
        inside = _open_only_folder(tree, top.listing.folders[0], places, blocked)
        if found.empty:
            _choose(inside, exercise_files, found)
            places += inside
        else:
            found.notes += _left_unread(inside, exercise_files, found)
    elif found.empty and not blocked and not top.listing.folders and top.listing.links:
        link = shown_path((), top.listing.links[0])
        blocked.append(f"{link} is a symbolic link, which is not followed: hand in the files themselves.")
    blocked += _folders_named_like_files(places, exercise_files, found)
    for name, why in tree.refused.items():
        if name not in found.picks:
            found.problems.setdefault(name, why)
    found.notes += blocked + _notes_on_the_rest(places, exercise_files, found)
    if found.empty:
        found.reason = blocked[0] if blocked else _why_nothing(places, exercise_files)
    return found


def _open(tree: Tree, folder: Folder, blocked: list[str]) -> list[_Place]:
    try:
        return [_Place(folder, tree.listing(folder))]
    except Unreadable as error:
        blocked.append(str(error))
        return []


def _open_exercises(tree: Tree, place: _Place, blocked: list[str]) -> list[_Place]:
    """The `exercises/` of a place, as a list of one or none; `Exercises/` will do where it is the only one."""
    names = {name for name in (*place.listing.folders, *place.listing.links) if name.casefold() == EXERCISES}
    if EXERCISES in names:
        names = {EXERCISES}
    return _open(tree, (*place.folder, names.pop()), blocked) if len(names) == 1 else []


def _open_only_folder(tree: Tree, name: str, places: Sequence[_Place], blocked: list[str]) -> list[_Place]:
    """The only sub-folder and its `exercises/`; when it is itself an `exercises/`, it is among `places` already."""
    if name.casefold() == EXERCISES:
        return [inner for place in places[1:] for inner in _open_exercises(tree, place, blocked)]
    return [
        place for folder in _open(tree, (name,), blocked) for place in (folder, *_open_exercises(tree, folder, blocked))
    ]


def _choose(places: Sequence[_Place], exercise_files: Sequence[str], found: Located) -> None:
    """Picks for each exercise file the exact name in the first place that has it, else the only near name of all."""
    for file in exercise_files:
        exact = [place.folder for place in places if file in place.listing.files]
        if exact:
            found.picks[file] = (exact[0], file)
            found.notes += [
                f"{shown_path(exact[0], file)} was graded, {shown_path(other, file)} was not: delete the one that does "
                "not count."
                for other in exact[1:]
            ]
            continue
        near = [
            (place.folder, name)
            for place in places
            for name in place.listing.files
            if exercise_file_for(name, exercise_files) == file
        ]
        if len(near) == 1:
            found.picks[file] = near[0]
            found.notes.append(f"{shown_path(*near[0])} was graded as {file}: please name it exactly {file}.")
        elif near:
            names = ", ".join(shown_path(*one) for one in near[:4])
            found.problems[file] = (
                f"Several files could be {file} ({names}): keep the one that counts, name it {file} "
                "and hand it in again."
            )


def _folders_named_like_files(places: Sequence[_Place], exercise_files: Sequence[str], found: Located) -> list[str]:
    return [
        f"{shown_path(place.folder, file)} is a folder, not a file: hand in the file itself."
        for place in places
        for file in exercise_files
        if file in place.listing.folders and file not in found.picks
    ]


def _left_unread(inner: Sequence[_Place], exercise_files: Sequence[str], found: Located) -> list[str]:
    return [
        f"{shown_path(place.folder, file)} was not graded, since other exercise files lie further up: "
        "keep them together."
        for place in inner
        for file in place.listing.files
        if file in exercise_files and file not in found.picks
    ]


def _notes_on_the_rest(places: Sequence[_Place], exercise_files: Sequence[str], found: Located) -> list[str]:
    """Says from where files were taken and what else lies beside them and has no effect."""
    notes = [
        f"Found in {shown_path(folder[:-1], folder[-1])}/."
        for folder in sorted({folder for folder, _ in found.picks.values() if folder})
    ]
    rest = [(place.folder, name) for place in places for name in place.listing.files]
    rest = [one for one in rest if one not in found.picks.values() and one[1] not in exercise_files]
    notes += [
        f"Your {given} was ignored: grading uses the course's own."
        for given in GIVEN_FILES
        if any(name == given for _, name in rest)
    ]
    inert = [shown_path(*one) for one in rest if _is_inert(one[1])]
    if inert:
        notes.append(f"Ignored, without effect on grading: {_first(inert)}.")
    others = [
        shown_path(*one)
        for one in rest
        if one[1].endswith(".py") and one[1] not in {*GIVEN_FILES, "__init__.py"} and not _is_inert(one[1])
        if exercise_file_for(one[1], exercise_files) not in found.problems
    ]
    if others and not found.empty:
        notes.append(f"Not read: {_first(others)}. Only the exercise files are; put what they need into them.")
    return notes


def _is_inert(name: str) -> bool:
    return name in _INERT_NAMES or name.endswith(_INERT_SUFFIXES)


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _why_nothing(places: Sequence[_Place], exercise_files: Sequence[str]) -> str:
    names = [name.casefold() for place in places for name in place.listing.files]
    if any(name.endswith(ARCHIVE_SUFFIXES) for name in names):
        return "There is no exercise file, only an archive inside: unpack it and hand in the exercise files themselves."
    wanted = ", ".join(exercise_files)
    if len(places[0].listing.folders) > 1:
        return (
            f"No exercise file and no notebook lies at the top or in {EXERCISES}/, and there are several folders: "
            f"put your files ({wanted}) or notebooks at the top and hand it in again."
        )
    return (
        "There is no exercise file and no notebook in it: "
        f"put your files ({wanted}) or notebooks at the top or in {EXERCISES}/."
    )


def locate_notebooks(tree: Tree) -> list[tuple[Folder, str]]:
    """The notebooks of a submission: from the first of its places that holds any.

    The places are the top, `exercises/`, the only sub-folder with its `exercises/`, and where a student's copy of the
    course has them. A folder that cannot be opened is passed over: `locate` has told of it.
    """
    top = _Place((), tree.listing(()))
    groups: list[list[_Place]] = [[top], _open_exercises(tree, top, [])]
    folders = top.listing.folders
    if len(folders) == 1:
        groups.append(_open_only_folder(tree, folders[0], groups[0] + groups[1], []))
    starts: list[Folder] = [()] if RELEASED[0] in folders else [(folders[0],)] if len(folders) == 1 else []
    groups += [_open(tree, (*start, *RELEASED), []) for start in starts]
    for places in groups:
        found = [(place.folder, name) for place in places for name in place.listing.files if is_notebook(name)]
        if found:
            return found
    return []
