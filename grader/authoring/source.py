"""The instructors' notebooks, `source/<assignment>/*.ipynb`, made from the texts in `source/texts/*.py`.

A text is a jupytext percent file. Four kinds of cells are filled in here, so that each thing is written once:

    # %% answer="rmsnorm"                      the answer cell: a piece of solutions/, with its markers
    # %% check="rmsnorm"                       the check cell, worth the exercise's points
    # %% [markdown] question="rmsnorm 2"       question 2 of the exercise's page, and a cell for the student's answer
    # %%                                       given code; it begins with the comment `# Given`, which says so

Everything else is prose. Nothing here depends on when or where it runs: ids are derived, outputs are empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader.authoring.answers import AuthoringError, answer_text, notes_text, question_text
from nanolm.course import EXERCISES, Exercise
from nanolm.notebook_cells import GIVEN

ASSIGNMENT = "module06"
TEXTS = Path("source") / "texts"
QUESTION_POINTS = 2
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
START = f"""\
{GIVEN}: run this first. It finds the course's folder and draws figures inside the notebook.
from nanolm.notebook import start

start()"""


def how_to(exercise: Exercise) -> str:
    """The second cell of an exercise's notebook: what counts, and what the cells are."""
    return f"""\
Exercise `{exercise.id}` · {exercise.points:g} points for the code, {QUESTION_POINTS} for a written answer · read \
{exercise.section} · [its page](../../docs/exercises/{exercise.id}.md)

Write your code into the cell that holds a stub, run it, then run the check cell below it. It runs the course's tests on
what you wrote, and where it knows your mistake it calls it by its name. Cells that begin with `{GIVEN}` came with the
notebook; they are locked and want nothing from you. Add cells of your own wherever you like: a helper that your answer
uses is graded with it, everything else is for you alone.

Grading reads the *text* of your answer, never what a cell has printed, and runs the same tests on other inputs. If you
would rather work in a file, `exercises/{exercise.file}` is the same exercise; hand in one of the two (if you hand in
both, the file counts)."""


def source_notebooks(root: Path) -> dict[str, str]:
    """File name and text of every instructors' notebook; raises AuthoringError with one sentence."""
    texts = sorted((root / TEXTS).glob("*.py"))
    if not texts:
        raise AuthoringError(f"there is no text in {TEXTS.as_posix()}/")
    made: dict[str, str] = {}
    for path in texts:
        try:
            made[f"{path.stem}.ipynb"] = _notebook(root, path)
        except (AuthoringError, OSError) as error:
            raise AuthoringError(f"{(TEXTS / path.name).as_posix()}: {error}") from error
    return made


def _notebook(root: Path, path: Path) -> str:
    stem = path.stem.partition("_")[2]
    text = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    cells: list[Any] = []
    prose = given = 0
    for number, cell in enumerate(text.cells):
        if "answer" in cell.metadata:
            exercise = _exercise(cell.metadata["answer"])
            cells.append(_graded(new_code_cell(answer_text(root, exercise)), f"{exercise}-answer", solution=True))
        elif "check" in cell.metadata:
            exercise = _exercise(cell.metadata["check"])
            call = f'from nanolm.notebook import check\n\ncheck("{exercise}", globals())'
            points = EXERCISES[exercise].points
            cells.append(_graded(new_code_cell(call), f"{exercise}-check", points=points))
        elif "question" in cell.metadata:
            cells += _question(root, cell.metadata["question"])
        elif cell.cell_type == "code":
            given += 1
            if not cell.source.startswith(GIVEN):
                raise AuthoringError(f"given code begins with {GIVEN!r}, not with {cell.source[:40]!r}")
            cells.append(_graded(new_code_cell(cell.source), f"{stem}-given-{given}"))
        else:
            prose += 1
            cells.append(new_markdown_cell(cell.source, id=f"{stem}-text-{prose}"))
        if number == 0:
            if stem in EXERCISES:
                cells.append(new_markdown_cell(how_to(EXERCISES[stem]), id=f"{stem}-how-to"))
            cells.append(_graded(new_code_cell(START), f"{stem}-start"))
    notebook = new_notebook(cells=cells, metadata=METADATA)
    notebook.nbformat_minor = 5
    nbformat.validate(notebook)
    return f"{nbformat.writes(notebook, version=4)}\n"


def _question(root: Path, reference: str) -> Iterator[Any]:
    exercise, _, number = reference.partition(" ")
    _exercise(exercise)
    if not number.isdigit():
        raise AuthoringError(f"a question is named like 'rmsnorm 2', not {reference!r}")
    head = f"## In your own words ({QUESTION_POINTS} points, read by a person)"
    asked = f"{head}\n\n{question_text(root, exercise, int(number))}"
    yield _graded(new_markdown_cell(asked), f"{exercise}-question-text")
    notes = notes_text(root, exercise, int(number))
    yield _graded(new_markdown_cell(notes), f"{exercise}-question", solution=True, points=QUESTION_POINTS)


def _exercise(name: str) -> str:
    if name not in EXERCISES:
        raise AuthoringError(f"unknown exercise {name!r}: there are {', '.join(EXERCISES)}")
    return name


def _graded(cell: Any, grade_id: str, *, solution: bool = False, points: float | None = None) -> Any:
    """A cell as nbgrader knows it: an answer, a check with points, both (a written answer), or read-only."""
    cell.id = grade_id
    cell.metadata["nbgrader"] = {
        "grade": points is not None,
        "grade_id": grade_id,
        "locked": not solution,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    if points is not None:
        cell.metadata["nbgrader"]["points"] = points
    return cell
