"""A small class in a course of its own: graded, but for one who handed in late, and one page without any protection."""

from __future__ import annotations

import copy
import csv
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from selftests.browser.watching import payload
from selftests.making_notebooks import (
    STEM,
    STUBS,
    Notebook,
    answered,
    banked,
    cell_of,
    code,
    plain,
    right_class,
    write,
)
from selftests.running_grade import nanolm
from selftests.test_course_loop import SECRET, make_course

FIRST = STEM["rmsnorm"]
MAXIMUM = 118
"""Points of a submission as nbgrader counts: 100 for the code, 2 for each of nine written answers."""
POINTS = {"reference": 100.0, "centering": 10.5, "stub": 0.0, "hostile": 0.0, "unguarded": 0.0, "truncated": None}
NAME = "Hostile <img src=x onerror=alarm`name`><script>alarm`name`</script>"
AWAITING = ("hostile", "unguarded", "truncated")
"""Who waits for a person: a written answer was changed, or there is no verdict."""
LATE, LATE_POINTS = "swapped", 2.5
"""Collected after the class was graded; what it earns the Autograde button has to find out."""


def hostile() -> Notebook:
    """A payload wherever a student can write."""
    answer = f"'''{payload('code')}'''\n# {payload('comment')}\nraise ValueError({payload('exception')!r})"
    notebook = answered("rmsnorm", answer)
    shown = [
        {"output_type": "display_data", "metadata": {}, "data": {"text/html": payload("output")}},
        {"output_type": "stream", "name": "stdout", "text": payload("printed")},
    ]
    notebook["cells"][:0] = [
        {"cell_type": "markdown", "id": "mine-1", "metadata": {}, "source": payload("markdown")},
        {"cell_type": "raw", "id": "mine-2", "metadata": {"raw_mimetype": "text/html"}, "source": payload("raw")},
        code("print('mine')", id="mine-3", outputs=shown),
    ]
    cell_of(notebook, "rmsnorm-check")["outputs"] = copy.deepcopy(shown)
    cell_of(notebook, "rmsnorm-question")["source"] = f"{payload('reply')}\n\n[a link](javascript:alarm`link`)"
    return notebook


def _hand_in(folder: Path) -> None:
    write(folder / "reference", right_class())
    write(folder / "stub", STUBS)
    write(folder / "centering", {FIRST: answered("rmsnorm", plain(banked("rejected/rmsnorm/centering")[1]))})
    write(folder / "hostile", {FIRST: hostile()})
    write(folder / "unguarded", {FIRST: hostile()})
    (folder / "truncated").mkdir()
    (folder / "truncated" / f"{FIRST}.ipynb").write_text('{"cells": [', encoding="utf-8")


@dataclass(frozen=True)
class Course:
    """Where it is, and what is stored of it."""

    folder: Path

    def page(self, student: str, step: str, ending: str) -> Path:
        """A student's first notebook after a step."""
        return self.folder / "grading" / step / student / "module06" / f"{FIRST}{ending}"

    def stored(self, student: str) -> list[tuple[str, float | None, float | None]]:
        """What the gradebook holds of a student: cell, points of the tests, points of a person."""
        query = """
            SELECT base_cell.name, grade.auto_score, grade.manual_score FROM grade
            JOIN base_cell ON grade.cell_id = base_cell.id
            JOIN submitted_notebook ON grade.notebook_id = submitted_notebook.id
            JOIN submitted_assignment ON submitted_notebook.assignment_id = submitted_assignment.id
            WHERE submitted_assignment.student_id = ? ORDER BY base_cell.name"""
        with sqlite3.connect(self.folder / "grading" / "gradebook.db") as gradebook:
            return gradebook.execute(query, (student,)).fetchall()


def graded_class(base: Path) -> Course:
    """Make the course and the class, and grade it with the instructor's command."""
    course = Course(make_course(base / "course"))
    _hand_in(base / "class")
    roster = base / "roster.csv"
    with roster.open("w", encoding="utf-8", newline="") as stream:
        rows = [[student, NAME if student == "hostile" else student.title()] for student in POINTS]
        csv.writer(stream).writerows([["id", "name"], *rows, [LATE, LATE.title()]])
    ran = nanolm("course", "grade", base / "class", "--roster", roster, "--course", course.folder,
                 environment=SECRET, cwd=course.folder, seconds=900)  # fmt: skip
    assert ran.returncode == 3, ran.stdout + ran.stderr
    exercise, answer = banked("rejected/swiglu/swapped-gate-up")
    write(base / "late" / LATE, {STEM[exercise]: answered(exercise, answer)})
    ran = nanolm("course", "collect", base / "late", "--roster", roster, "--course", course.folder,
                 environment=SECRET, cwd=course.folder, seconds=300)  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # What the class's page would be if nbgrader were shown the file as it was handed in: the control.
    shutil.copyfile(base / "class" / "unguarded" / f"{FIRST}.ipynb", course.page("unguarded", "autograded", ".ipynb"))
    return course
