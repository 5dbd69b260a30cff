"""`nbgrader export` with a status for everybody: the table of `nanolm course grade`, out of the gradebook as it is now.

So points that a person has given in formgrader are in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbgrader.plugins import ExportPlugin

from grader.coursework.gradebook import scores
from grader.coursework.loop import collected_students
from grader.coursework.overview import rows_of, write_csv
from grader.coursework.standing import standing
from grader.nbgrader_plugins.setting import course_of
from grader.roster import Student


class GradeExport(ExportPlugin):  # type: ignore[misc]
    """Writes one row a student, properly quoted, in UTF-8."""

    def export(self, gradebook: Any) -> None:
        """Write the CSV file to `--to`, or to grades.csv in the course's folder of students' data."""
        course = course_of(self)
        roster = [Student(student.id, student.last_name or "") for student in gradebook.students]
        standings = {student: standing(course, student) for student in collected_students(course)}
        path = Path(self.to) if self.to else course.data / "grades.csv"
        write_csv(path, rows_of(roster, standings, scores(gradebook)))
        self.log.info("Grades are in %s", path)
