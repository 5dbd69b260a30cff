"""What a submitted notebook holds: which released one it is, its answers, and the student's other cells.

A cell is found by its grade id, else by its cell id, else by the names that it defines. Nothing here parses a student's
text: lines decide, and `apart` reads the syntax where cells have to be put together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.notebooks.apart import Question
from grader.notebooks.parsing import Cell
from grader.notebooks.released import (
    ANSWER,
    QUESTION,
    Released,
    ReleasedNotebook,
    defined_names,
    imported_names,
)
from nanolm.course import EXERCISES
from nanolm.untrusted import printable


@dataclass(frozen=True)
class Answer:
    """One exercise's answer in a notebook: its cell's text, and the cells it may take something from."""

    exercise: str
    source: str
    others: tuple[str, ...]
    notebook: ReleasedNotebook
    touched: bool
    """Whether the student has changed the cell, or has written the exercise's names elsewhere."""

    @property
    def question(self) -> Question:
        """What to ask `apart.parts_of`."""
        return self.source, self.others, self.notebook.given_code, sorted(EXERCISES[self.exercise].names)

    @property
    def stands_alone(self) -> bool:
        """Whether the cell's text is the whole answer, as far as its lines tell."""
        magics = re.search(r"^[ \t]*[%!?]|\?[ \t]*$|=[ \t]*[%!]", self.source, re.MULTILINE)
        words = set(re.findall(r"\w+", self.source)) & self.notebook.given_imports
        return not self.others and not magics and words <= imported_names(self.source)


@dataclass
class Notebook:
    """A submitted notebook, matched with the released one."""

    file: str
    """Its file name, printable."""
    released: ReleasedNotebook
    cells: tuple[Cell, ...]
    answers: dict[str, Answer] = field(default_factory=dict)
    replies: dict[str, str] = field(default_factory=dict)
    """Grade id of a written question → what the student wrote."""
    notes: list[str] = field(default_factory=list)

    @property
    def touched(self) -> bool:
        """Whether anything of it is the student's."""
        return any(answer.touched for answer in self.answers.values()) or any(
            reply.strip() != self.released.by_grade_id[grade_id].source.strip()
            for grade_id, reply in self.replies.items()
        )


def match(file_name: str, cells: Sequence[Cell], course: Released) -> list[Notebook]:
    """Which released notebook this is, with its answers; several where somebody has put them into one file."""
    by_name = course.named(file_name)
    found = _by_marks(cells, course) or ([by_name] if by_name else _by_definitions(cells, course))
    return [_notebook(file_name, cells, this) for this in found]


def _notebook(file_name: str, cells: Sequence[Cell], this: ReleasedNotebook) -> Notebook:
    shown = printable(file_name, 120)
    notebook = Notebook(shown, this, tuple(cells))
    if file_name != f"{this.stem}.ipynb":
        notebook.notes.append(f"{shown} was read as {this.stem}.ipynb: please keep the name.")
    for exercise in this.exercises:
        notebook.answers[exercise] = _answer(exercise, notebook)
    for grade_id in this.by_grade_id:
        if grade_id.endswith(QUESTION):
            found = _carrying(grade_id, notebook)
            edited = [cell for cell in found if cell.source.strip() != this.by_grade_id[grade_id].source.strip()]
            if edited:
                notebook.replies[grade_id] = edited[-1].source
    return notebook


def _by_marks(cells: Sequence[Cell], course: Released) -> list[ReleasedNotebook]:
    """The notebooks whose answer cells are here, by grade id or cell id; else the one with the most cells here."""
    grade_ids = {cell.grade_id for cell in cells}
    ids = {cell.id for cell in cells}
    answered = [
        one
        for one in course.notebooks.values()
        for answer in (one.by_grade_id[f"{exercise}{ANSWER}"] for exercise in one.exercises)
        if answer.grade_id in grade_ids or (answer.id and answer.id in ids)
    ]
    if answered:
        return list(dict.fromkeys(answered))
    votes = {
        stem: sum(cell.grade_id in one.by_grade_id or cell.id in one.by_id for cell in cells)
        for stem, one in course.notebooks.items()
    }
    best = max(votes, key=lambda stem: votes[stem], default="")
    return [course.notebooks[best]] if votes.get(best) else []


def _by_definitions(cells: Sequence[Cell], course: Released) -> list[ReleasedNotebook]:
    """The notebooks of the exercises most of whose names are defined here."""
    names = frozenset[str]().union(*(defined_names(cell.source) for cell in cells if cell.kind == "code"))
    return [
        one
        for one in course.notebooks.values()
        for entries in (frozenset(EXERCISES[exercise].names) for exercise in one.exercises)
        if len(entries & names) > len(entries) / 2
    ]


def _carrying(grade_id: str, notebook: Notebook) -> list[Cell]:
    """The cells that carry a grade id, else those with the released cell's id."""
    cell_id = notebook.released.by_grade_id[grade_id].id
    by_grade_id = [cell for cell in notebook.cells if cell.grade_id == grade_id]
    return by_grade_id or [cell for cell in notebook.cells if cell_id and cell.id == cell_id]


def _answer(exercise: str, notebook: Notebook) -> Answer:
    this, grade_id = notebook.released, f"{exercise}{ANSWER}"
    stub = this.by_grade_id[grade_id].source
    entries = frozenset(EXERCISES[exercise].names)
    copies = _carrying(grade_id, notebook)
    edited = [cell for cell in copies if cell.source.strip() not in ("", stub.strip())]
    own = [cell for cell in notebook.cells if is_own(cell, this) and cell not in copies]
    chosen: Cell | None = None
    if edited:
        # Splitting a cell leaves the mark on both halves: the last half may hold an experiment, or a part of the names.
        chosen = ([cell for cell in edited if defined_names(cell.source) & entries] or edited)[-1]
        own += [cell for cell in edited if cell is not chosen]
        if len(copies) > 1:
            notebook.notes.append(
                f"{notebook.file} has {len(copies)} copies of the answer cell of {exercise}: the last one that "
                "answers was graded, with what it lacks and another copy has."
            )
    elif not copies:
        defining = [cell for cell in own if cell.kind == "code" and defined_names(cell.source) & entries]
        if defining:
            # Of several attempts the last; one that defines more of the names is more of an answer.
            chosen = max(reversed(defining), key=lambda cell: len(defined_names(cell.source) & entries))
            own.remove(chosen)
            notebook.notes.append(
                f"{notebook.file} has lost the mark of the answer cell of {exercise}: it was found by what it defines."
            )
        else:
            notebook.notes.append(f"{notebook.file} has no answer cell of {exercise} any more.")
    if chosen is not None and chosen.kind != "code":
        notebook.notes.append(f"The answer cell of {exercise} is no code cell any more; it was read as one.")
    used = {id(cell) for cell in own}
    others = tuple(
        cell.source
        for cell in notebook.cells
        if id(cell) in used and (cell.kind == "code" or cell in copies) and cell.source.strip()
    )
    elsewhere = any(defined_names(source) & entries for source in others)
    return Answer(exercise, chosen.source if chosen else stub, others, this, chosen is not None or elsewhere)


def is_own(cell: Cell, this: ReleasedNotebook) -> bool:
    """Whether a cell is the student's: no cell of the release, changed or not where that one is locked."""
    known = this.by_grade_id.get(cell.grade_id)
    return known is None and cell.source.strip() not in this.texts
