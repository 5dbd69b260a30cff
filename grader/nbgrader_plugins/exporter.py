"""How nbgrader reads a submitted notebook: through our reader, rebuilt from the released one.

So none of what students do to a notebook reaches nbgrader, and none of it stops a run. `Autograde.exporter_class` names
this class; it acts on what is in `submitted/`, and reads everything else as nbgrader's own does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter

from grader.coursework.standing import read
from grader.nbgrader_plugins.setting import course_of
from grader.notebooks.rebuilding import rebuild
from grader.notebooks.released import released
from nanolm.course import EXERCISES


class SubmissionExporter(NotebookExporter):
    """Gives nbgrader a clean notebook for each submitted one."""

    def from_filename(self, filename: str, resources: Any = None, **more: Any) -> Any:
        """The output of a notebook file; a submitted one is rebuilt first."""
        if not getattr(self.parent, "_sanitizing", False) or not resources or "nbgrader" not in resources:
            return super().from_filename(filename, resources=resources, **more)
        course = course_of(self)
        submission = read(course, resources["nbgrader"]["student"])
        template = released(course.root).notebooks[resources["nbgrader"]["notebook"]]
        found = submission.notebooks
        files = {
            name: submission.files[EXERCISES[name].file]
            for name in template.exercises
            if EXERCISES[name].file in submission.files and EXERCISES[name].file not in found.files
        }
        content = rebuild(template, found.notebooks.get(template.stem), files)
        resources["metadata"] = {**resources.get("metadata", {}), "name": Path(filename).stem, "path": ""}
        rebuilt = nbformat.from_dict(content)
        output: Any = super().from_notebook_node(rebuilt, resources=resources, **more)  # type: ignore[no-untyped-call]
        return output
