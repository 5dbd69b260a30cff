"""The course's late policy as nbgrader's plugin: `grader.late` decides, nbgrader stores the penalty."""

from __future__ import annotations

from nbgrader.plugins import BasePlugin

from grader.late import LatePolicy
from grader.nbgrader_plugins.setting import CourseGrading


class LatePenalty(BasePlugin):  # type: ignore[misc]
    """What a notebook loses for being late, after the policy in `CourseGrading.late_policy`."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """Points to take; nbgrader asks for each notebook. Raises LatePolicyError where the policy says nothing."""
        policy = LatePolicy.parse(CourseGrading(config=self.config).late_policy)
        step = self.parent  # nbgrader's step knows the notebook, and so the points that could be had
        notebook = step.gradebook.find_submission_notebook(step.notebook_id, step.assignment_id, student_id)
        return policy.penalty(score, notebook.max_score, total_seconds_late)
