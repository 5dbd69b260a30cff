"""nbgrader's steps with our verdicts in the place of a kernel's word: the check cell's table, the points, the comment.

`Verdicts` stands where nbgrader has Execute, and `SaveVerdicts` where it has SaveAutoGrades. No kernel is started, and
nothing of a submission is executed here: what the ledger does not know, workers of our own find out.
"""

from __future__ import annotations

from typing import Any

import nbformat
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades

from grader.coursework.standing import Standing, ensure
from grader.coursework.words import comment, table
from grader.nbgrader_plugins.setting import course_of
from grader.notebooks.released import ANSWER, CHECK
from nanolm.course import EXERCISES


def _exercise(cell: Any, ending: str) -> str | None:
    """The exercise whose check or answer cell this is."""
    grade_id: str = cell.metadata.get("nbgrader", {}).get("grade_id") or ""
    exercise = grade_id.removesuffix(ending)
    return exercise if grade_id.endswith(ending) and exercise in EXERCISES else None


def _standing(preprocessor: Any, resources: Any) -> Standing:
    return ensure(course_of(preprocessor), resources["nbgrader"]["student"])


class Verdicts(NbGraderPreprocessor):  # type: ignore[misc]
    """Puts the verdicts on an exercise under its check cell, as plain text."""

    def preprocess(self, nb: Any, resources: Any) -> Any:
        """Give each check cell its table; whatever other output there is goes."""
        standing = None
        for cell in nb.cells:
            if cell.cell_type != "code":
                continue
            cell.outputs, cell.execution_count = [], None
            exercise = _exercise(cell, CHECK)
            if exercise is not None:
                standing = standing or _standing(self, resources)
                text = table(standing, exercise)
                cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)]
        return nb, resources


class SaveVerdicts(SaveAutoGrades):  # type: ignore[misc]
    """Stores the verdicts' points; an exercise without a verdict waits for a person, and is never full marks."""

    def preprocess(self, nb: Any, resources: Any) -> Any:
        """Store what the notebook's exercises have earned."""
        graded = any(_exercise(cell, CHECK) for cell in nb.cells)
        self._standing = _standing(self, resources) if graded else None
        return super().preprocess(nb, resources)

    def _add_score(self, cell: Any, resources: Any) -> None:
        exercise = _exercise(cell, CHECK)
        if exercise is None or self._standing is None:
            super()._add_score(cell, resources)
            return
        grade = self.gradebook.find_grade(
            cell.metadata["nbgrader"]["grade_id"], self.notebook_id, self.assignment_id, self.student_id
        )
        grade.auto_score = self._standing.score(exercise)
        grade.needs_manual_grade = grade.auto_score is None or grade.manual_score is not None
        self.gradebook.db.commit()

    def _add_comment(self, cell: Any, resources: Any) -> None:
        exercise = _exercise(cell, ANSWER)
        if exercise is None or self._standing is None:
            super()._add_comment(cell, resources)
            return
        found = self.gradebook.find_comment(
            cell.metadata["nbgrader"]["grade_id"], self.notebook_id, self.assignment_id, self.student_id
        )
        found.auto_comment = comment(self._standing, exercise)
        self.gradebook.db.commit()
