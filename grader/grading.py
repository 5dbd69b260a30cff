"""From paths to grades: read each submission, grade it, keep the JSON file whole."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader.bank import given
from grader.pool import grade_all
from grader.results import SubmissionResult
from grader.session import Job, Settings
from grader.submissions import name_submissions, read_submission
from grader.table import stepping
from nanolm.course import EXERCISES, exercise_files


def grade_paths(paths: Sequence[Path], settings: Settings, *, processes: int | None = None) -> list[SubmissionResult]:
    """Grade submissions in the order given. Raises CannotStart."""
    ours = given(settings.root)
    jobs = [_job(path, name, ours) for path, name in zip(paths, name_submissions(paths), strict=True)]
    with stepping("grading", len(jobs)) as step:
        results = grade_all(jobs, settings, lambda result: step(), processes=processes)
    # A submission that never reached the tests still has the exercises' full points as its maximum.
    full = sum(EXERCISES[name].points for name in settings.exercises)
    return [replace(result, max_score=result.max_score or full) for result in results]


def _job(path: Path, name: str, ours: dict[str, str]) -> Job:
    submission = read_submission(path, exercise_files(), name=name)
    return Job(
        name=submission.name,
        texts={**submission.files, **ours},
        problems=submission.problems,
        notes=submission.notes,
        ungradable=submission.ungradable,
    )


def write_json(path: Path, data: object) -> None:
    """Write a file whole or not at all: an interrupted run leaves the old one. Raises OSError.

    What is not a plain file (a pipe, /dev/stdout) is written to; a link's target is replaced, not the link.
    """
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    target = path.resolve()
    part = target.with_name(f".{target.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, target)
    except OSError:
        part.unlink(missing_ok=True)
        raise
