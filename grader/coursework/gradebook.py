"""nbgrader's gradebook and pages, driven from one process: its imports are paid for once."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps import NbGraderAPI
from nbgrader.preprocessors import SaveCells
from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.exc import SAWarning

from grader.coursework.standing import Course
from grader.nbgrader_plugins.setting import configuration
from grader.notebooks.released import ASSIGNMENT, CHECK, released


@event.listens_for(Engine, "connect")
def _commit_quickly(connection: Any, record: object) -> None:
    """Commits of a thousand grades need not each wait for the disk: after a power cut they are made again."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.close()


@dataclass(frozen=True)
class Score:
    """What the gradebook has for a student."""

    code: float
    """Points of the tests, in as far as there are any."""
    questions: float
    """Points that a person gave for the written questions."""
    penalty: float
    awaiting: tuple[str, ...]
    """Grade ids of cells that a person has to look at."""


class Pages:
    """The gradebook and the pages of a course."""

    def __init__(self, course: Course) -> None:
        # nbgrader calls `alembic`, which lies beside this Python, whether or not that is on the path.
        beside = str(Path(sys.executable).parent)
        if beside not in os.environ.get("PATH", "").split(os.pathsep):
            os.environ["PATH"] = f"{beside}{os.pathsep}{os.environ.get('PATH', '')}"
        # nbgrader adds rows in an order that SQLAlchemy remarks upon; the instructor can do nothing about it.
        warnings.filterwarnings("ignore", category=SAWarning)
        self._course = course
        settings = configuration(course.root)
        settings.CourseGrading.round = course.round
        settings.CourseGrading.isolation = course.isolation
        self._api = NbGraderAPI(config=settings)
        self._api.log.setLevel("ERROR")
        self._register()

    def _open(self) -> Gradebook:
        return Gradebook(self._api.coursedir.db_url, self._api.coursedir.course_id)

    def _register(self) -> None:
        """Make the released notebooks known to the gradebook, as generate_assignment does."""
        with self._open() as gradebook:
            try:
                known = {
                    cell.name: (cell.checksum, cell.source)
                    for notebook in gradebook.find_assignment(ASSIGNMENT).notebooks
                    for cell in notebook.source_cells
                }
            except MissingEntry:
                gradebook.add_assignment(ASSIGNMENT)
                known = {}
        for one in released(self._course.root).notebooks.values():
            if any(known.get(name, ("", ""))[1] != cell.source for name, cell in one.by_grade_id.items()):
                where = {"notebook": one.stem, "assignment": ASSIGNMENT, "db_url": self._api.coursedir.db_url}
                SaveCells().preprocess(nbformat.read(one.path, as_version=4), {"nbgrader": where})

    def enrol(self, names: Mapping[str, str]) -> None:
        """Make the roster's students known, with their names."""
        with self._open() as gradebook:
            there = {student.id: student.last_name for student in gradebook.students}
            for student, name in names.items():
                if there.get(student, "") != name:
                    gradebook.update_or_create_student(student, last_name=name)

    def has(self, student: str, feedback: bool) -> bool:
        """Whether a student's pages are there at all."""
        data = self._course.data
        places = [data / "autograded", *([data / "feedback"] if feedback else [])]
        return all((place / student / ASSIGNMENT).is_dir() for place in places)

    def write(self, student: str, *, feedback: bool) -> str | None:
        """Autograde a student, and write the feedback; returns nbgrader's own words where it fails."""
        answer = self._api.autograde(ASSIGNMENT, student, force=True, create=True)
        if answer["success"] and feedback:
            answer = self._api.generate_feedback(ASSIGNMENT, student, force=True)
        if answer["success"]:
            return None
        return "\n".join(str(answer.get(key) or "") for key in ("log", "error")).strip()[-2000:] or "no reason given"

    def scores(self) -> dict[str, Score]:
        """What the gradebook has of everybody."""
        with self._open() as gradebook:
            return scores(gradebook)


def scores(gradebook: Gradebook) -> dict[str, Score]:
    """Points, penalties and open cells of everybody who handed in."""
    found = {}
    for submission in gradebook.find_assignment(ASSIGNMENT).submissions:
        grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
        checks = [grade for grade in grades if grade.name.endswith(CHECK)]
        questions = [grade for grade in grades if not grade.name.endswith(CHECK)]
        found[submission.student.id] = Score(
            sum(grade.score for grade in checks),
            sum(grade.score for grade in questions),
            submission.late_submission_penalty,
            tuple(sorted(grade.name for grade in grades if grade.needs_manual_grade)),
        )
    return found
