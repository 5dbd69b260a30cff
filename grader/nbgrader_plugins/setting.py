"""The part of grader_config.py that is ours: round, isolation and late policy of an nbgrader course."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from traitlets import Unicode
from traitlets.config import Config, LoggingConfigurable
from traitlets.config.loader import PyFileConfigLoader

from grader.coursework.standing import Course
from grader.notebooks.released import ASSIGNMENT

CONFIGURATION = "grader_config.py"


class CourseGrading(LoggingConfigurable):
    """How the verdicts of an nbgrader course are given."""

    round = Unicode(ASSIGNMENT, help="Inputs are drawn from it and the secret in NANOLM_SECRET.").tag(config=True)
    isolation = Unicode("full", help="How far workers are shut in: full, medium, weak, best, best-medium.").tag(
        config=True
    )
    late_policy = Unicode("none", help="For example `10% per day, floor 40%, grace 2 hours`.").tag(config=True)

    def course(self, root: Path) -> Course:
        """The course in a folder, with these settings."""
        return Course(root, self.round, self.isolation)


def configuration(root: Path) -> Config:
    """What grader_config.py of a course sets, as nbgrader reads it."""
    loaded: Config = PyFileConfigLoader(CONFIGURATION, path=str(root)).load_config()
    return loaded


def course_of(plugin: Any) -> Course:
    """The course that one of nbgrader's objects works on: it is found from the converter above it."""
    above = plugin
    while not hasattr(above, "coursedir"):
        above = above.parent
    return CourseGrading(config=plugin.config).course(Path(above.coursedir.root))
