"""The released notebooks: what a submitted one is compared with, and rebuilt from."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.notebooks.parsing import Cell, NoNotebook, parse
from nanolm.course import EXERCISES

ASSIGNMENT = "module06"
FOLDER = ("release", ASSIGNMENT)
ANSWER, CHECK, QUESTION = "-answer", "-check", "-question"
"""What follows an exercise's id in the grade id of its three cells."""

_DEFINED = re.compile(r"^(?:class|def|async def)[ \t]+(\w+)", re.MULTILINE)
_IMPORTED = re.compile(r"^(?:from[ \t]+\S+[ \t]+)?import[ \t]+(.+)$", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class ReleasedNotebook:
    """One notebook as students got it."""

    stem: str
    path: Path
    cells: tuple[Cell, ...]

    @functools.cached_property
    def exercises(self) -> tuple[str, ...]:
        """The exercises that have an answer cell in it."""
        return tuple(name for name in EXERCISES if f"{name}{ANSWER}" in self.by_grade_id)

    @functools.cached_property
    def by_grade_id(self) -> Mapping[str, Cell]:
        """Its cells that nbgrader knows."""
        return {cell.grade_id: cell for cell in self.cells if cell.grade_id}

    @functools.cached_property
    def by_id(self) -> Mapping[str, Cell]:
        """Its cells by cell id."""
        return {cell.id: cell for cell in self.cells if cell.id}

    @functools.cached_property
    def given_code(self) -> tuple[str, ...]:
        """Its code cells that are no answer."""
        return tuple(cell.source for cell in self.cells if cell.kind == "code" and not cell.grade_id.endswith(ANSWER))

    @functools.cached_property
    def given_imports(self) -> frozenset[str]:
        """Names that its given cells import, in lines of one statement."""
        found = [name for source in self.given_code for names in _IMPORTED.findall(source) for name in names.split(",")]
        return frozenset(name.split(" as ")[-1].strip().partition(".")[0] for name in found)

    @functools.cached_property
    def texts(self) -> frozenset[str]:
        """The texts of all its cells, without blanks around them."""
        return frozenset(cell.source.strip() for cell in self.cells)


@dataclass(frozen=True)
class Released:
    """The assignment: its notebooks by the stem of their file names."""

    notebooks: Mapping[str, ReleasedNotebook] = field(default_factory=dict)

    def of(self, exercise: str) -> ReleasedNotebook | None:
        """The notebook that holds an exercise's answer cell."""
        return next((notebook for notebook in self.notebooks.values() if exercise in notebook.exercises), None)

    def named(self, file_name: str) -> ReleasedNotebook | None:
        """The notebook that a file name stands for, a near one too: `01_rmsnorm (1).ipynb`, `01_rmsnorm-Copy1.ipynb`.

        What a learning-management system sets before the name may stand there: `doejane_4711_99_01_rmsnorm-1.ipynb`.
        """
        return next((one for stem, one in self.notebooks.items() if _near(stem).fullmatch(file_name)), None)


@functools.cache
def _near(stem: str) -> re.Pattern[str]:
    gap = "[ _\u2013\u2014-]"
    number = rf"{gap}{{0,3}}\([0-9]{{1,3}}\)|{gap}[0-9]{{1,3}}"
    copy = rf"{gap}{{1,3}}(?:copy|копия){gap}?\(?[0-9]{{0,3}}\)?"
    return re.compile(
        rf"(?:copy of |.*[_ ])?{re.escape(stem)}(?:{copy})?(?:{number})*\.ipynb(?:\.json|\.txt|\.ipynb)?", re.IGNORECASE
    )


def is_notebook(file_name: str) -> bool:
    """Whether a file's name says that it is a notebook."""
    return file_name.casefold().endswith((".ipynb", ".ipynb.json", ".ipynb.txt"))


def defined_names(source: str) -> frozenset[str]:
    """Functions and classes that a cell defines in its first column, read off its lines."""
    return frozenset(_DEFINED.findall(source))


def imported_names(source: str) -> frozenset[str]:
    """Words of a cell's import lines: at least the names that they give."""
    return frozenset(word for line in _IMPORTED.findall(source) for word in re.findall(r"\w+", line))


@functools.cache
def released(root: Path) -> Released:
    """The released notebooks of a course folder; none where it has none, or one of them cannot be read."""
    found = {}
    for path in sorted(root.joinpath(*FOLDER).glob("*.ipynb")):
        try:
            cells, _ = parse(path.read_bytes())
        except (OSError, NoNotebook):
            continue
        found[path.stem] = ReleasedNotebook(path.stem, path, tuple(cells))
    return Released(found)
