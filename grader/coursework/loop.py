"""The loop itself: verdicts for what was collected, then nbgrader's gradebook, its feedback pages, and the overview.

It is resumable at every step: verdicts are in the ledger as they are given, and a student whose page shows what the
ledger says is passed over. Killed in the middle, it is started again with the same line.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.coursework.overview import Row, rows_of
from grader.coursework.standing import Course, Standing, read, standing
from grader.files import write_json
from grader.grading import grade_submissions
from grader.notebooks.released import ASSIGNMENT, released
from grader.results import SubmissionResult
from grader.roster import Student
from grader.session import CannotStart
from grader.table import stepping


@dataclass
class Done:
    """What a run of the loop came to."""

    results: list[SubmissionResult] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    """Students whose pages could not be written, with nbgrader's reason."""


def collected_students(course: Course) -> list[str]:
    """Ids of the students of whom something was collected."""
    folder = course.data / "submitted"
    if not folder.is_dir():
        return []
    return sorted(entry.name for entry in folder.iterdir() if (entry / ASSIGNMENT).is_dir() and entry.name[0] != ".")


def complete(course: Course, students: Sequence[str]) -> None:
    """Put the released notebook where a submission lacks one: nbgrader would store a zero for it, unread."""
    for student in students:
        folder = course.submitted(student)
        for notebook in released(course.root).notebooks.values():
            path = folder / notebook.path.name
            if not path.exists() and not path.is_symlink():
                part = path.with_name(f".{path.name}.part")
                shutil.copyfile(notebook.path, part)
                part.replace(path)


def give_verdicts(course: Course, students: Sequence[str], *, processes: int | None = None) -> list[SubmissionResult]:
    """Grade what was collected of students; what the ledger knows is not run again."""
    complete(course, students)
    submissions = [read(course, student) for student in students]
    return grade_submissions(submissions, course.settings, processes=processes, ledger=course.ledger)


def grade_course(
    course: Course, roster: Sequence[Student], *, processes: int | None = None, feedback: bool = True
) -> Done:
    """The whole loop over everything that was collected."""
    from grader.coursework.gradebook import Pages

    if not released(course.root).notebooks:
        raise CannotStart(f"{course.root} has no release/{ASSIGNMENT}: `make release` writes it")
    students = collected_students(course)
    names = {student.id: student.name for student in roster}
    graded = give_verdicts(course, students, processes=processes) if students else []
    done = Done()
    pages = Pages(course)
    pages.enrol(names)
    state = _State(course)
    standings: dict[str, Standing] = {}
    with stepping("gradebook", len(students)) as step:
        for student, result in zip(students, graded, strict=True):
            found = standings[student] = standing(course, student)
            mark = _mark(course, found, feedback)
            if state.marks.get(student) != mark or not pages.has(student, feedback):
                trouble = pages.write(student, feedback=feedback)
                if trouble:
                    done.troubles.append(f"{student}: {trouble}")
                else:
                    state.keep(student, mark)
            done.results.append(replace(found.result, student=names.get(student, ""), seconds=result.seconds))
            step()
    done.rows = rows_of(roster, standings, pages.scores())
    return done


def _mark(course: Course, found: Standing, feedback: bool) -> str:
    """Everything a student's pages depend on, as one hash."""
    folder = course.submitted(found.student)
    content = {
        "files": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in _plain(folder)},
        "released": {stem: one.path.read_text("utf-8") for stem, one in released(course.root).notebooks.items()},
        "verdicts": {name: [v.to_data() | {"seconds": 0} for v in members] for name, members in found.verdicts.items()},
        "configuration": (course.root / "grader_config.py").read_text("utf-8"),
        "feedback": feedback,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _plain(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.is_symlink())


class _State:
    """Whose pages show what; kept beside them, written whole after each student."""

    def __init__(self, course: Course) -> None:
        self._path = course.data / "pages.json"
        try:
            self.marks: dict[str, str] = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            self.marks = {}

    def keep(self, student: str, mark: str) -> None:
        """Note that a student's pages are written."""
        self.marks[student] = mark
        write_json(self._path, self.marks)
