"""nbgrader's configuration: one file for its commands, for JupyterLab and for `nanolm`.

nbgrader itself finds it through `nbgrader_config.py`. It is executed several times a command: nothing here has an
effect beyond the settings and the folder for the gradebook. Students' data stays below `grading/`, which git ignores.
"""

from pathlib import Path

c = get_config()  # noqa: F821 (nbgrader defines it where it reads this file)
ROOT = Path(__file__).resolve().parent
# Without the one nbgrader speaks of a database that needs an upgrade, without the other of an instructor to be asked.
(ROOT / "grading" / "exchange").mkdir(parents=True, exist_ok=True)

c.CourseDirectory.course_id = "nanolm"
c.CourseDirectory.root = str(ROOT)
c.CourseDirectory.db_url = f"sqlite:///{ROOT / 'grading' / 'gradebook.db'}"
c.CourseDirectory.submitted_directory = "grading/submitted"
c.CourseDirectory.autograded_directory = "grading/autograded"
c.CourseDirectory.feedback_directory = "grading/feedback"
c.Exchange.root = str(ROOT / "grading" / "exchange")  # nbgrader wants a place that it may write to
c.CourseDirectory.ignore = [
    ".ipynb_checkpoints",
    "*.pyc",
    "__pycache__",
    ".nbgrader.log",
    "*.py",
    "*.md",
    ".hypothesis",
    "collected.json",
]

# A released answer cell raises the task that its solution's marker names, exactly as the stub in exercises/ does.
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.IncludeHeaderFooter",
    "nbgrader.preprocessors.LockCells",
    "grader.authoring.preprocessors.ClearToStubs",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.ClearSolutions.text_stub = "*Write your answer here.*"

# Verdicts instead of a kernel: a submission is rebuilt from the release, graded by workers of our own, and stored.
c.Autograde.exporter_class = "grader.nbgrader_plugins.exporter.SubmissionExporter"
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "grader.nbgrader_plugins.preprocessors.Verdicts",
    "grader.nbgrader_plugins.preprocessors.SaveVerdicts",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.AssignLatePenalties.plugin_class = "grader.nbgrader_plugins.late.LatePenalty"
c.ExportApp.plugin_class = "grader.nbgrader_plugins.export.GradeExport"

# How verdicts are given; a line of `nanolm course grade` may say otherwise.
c.CourseGrading.round = "module06"
c.CourseGrading.isolation = "full"
c.CourseGrading.late_policy = "none"
