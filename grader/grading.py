"""From paths to grades: read each submission, grade what no ledger knows, keep the JSON file whole."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from grader.bank import given
from grader.circumstances import circumstances, described
from grader.ledger import Known, Ledger, Recording
from grader.notebooks.released import released
from grader.pool import grade_all
from grader.results import SubmissionResult
from grader.roster import Student, assign
from grader.sandbox import acceptable
from grader.session import Job, Settings
from grader.submissions import MAX_NAME, Submission, name_submissions, read_submission
from grader.table import stepping
from nanolm.course import EXERCISES, exercise_files
from nanolm.untrusted import printable

MISSING = "Nothing was handed in under this id."


def grade_paths(
    paths: Sequence[Path], settings: Settings, *, processes: int | None = None, ledger: Path | None = None
) -> list[SubmissionResult]:
    """Read and grade submissions in the order given, under their paths' tails. Raises CannotStart, LedgerError."""
    course = released(settings.root)
    submissions = [
        read_submission(path, exercise_files(), name=name, released=course)
        for path, name in zip(paths, name_submissions(paths), strict=True)
    ]
    return grade_submissions(submissions, settings, processes=processes, ledger=ledger)


def grade_submissions(
    submissions: Sequence[Submission],
    settings: Settings,
    *,
    processes: int | None = None,
    ledger: Path | None = None,
) -> list[SubmissionResult]:
    """Grade submissions that have been read. Raises CannotStart, LedgerError.

    With a ledger, verdicts that it has are taken from it, and new ones are written into it as they are given.
    """
    ours = given(settings.root)
    jobs = [_job(submission, ours) for submission in submissions]
    recording = Recording(ledger, circumstances(settings)) if ledger else None
    if recording:
        jobs = _look_up(jobs, recording, settings)
    return grade_jobs(jobs, settings, processes=processes, recording=recording)


def grade_jobs(
    jobs: Sequence[Job], settings: Settings, *, processes: int | None = None, recording: Recording | None = None
) -> list[SubmissionResult]:
    """Grade jobs."""
    with stepping("grading", len(jobs)) as step:
        results = grade_all(jobs, settings, lambda result: step(), processes=processes, recording=recording)
    # A submission that never reached the tests still has the exercises' full points as its maximum.
    full = sum(EXERCISES[name].points for name in settings.exercises)
    return [replace(result, max_score=result.max_score or full) for result in results]


def _job(submission: Submission, ours: dict[str, str]) -> Job:
    return Job(
        name=submission.name,
        texts={**submission.files, **ours},
        problems=submission.problems,
        notes=submission.notes,
        ungradable=submission.ungradable,
        digest=submission.digest,
    )


def _look_up(jobs: Sequence[Job], recording: Recording, settings: Settings) -> list[Job]:
    """The jobs with what the ledger knows of them; what was handed in is noted there before anything is graded."""
    at = recording.circumstances
    least = acceptable(settings.isolation)[-1]
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger(recording.path))
        stack.enter_context(ledger.transaction())
        ledger.describe(at.environment, described())
        for job in jobs:
            ledger.receive(job.name, job.digest, at.round, job.texts, job.problems)
        return [with_known(job, ledger.known(job.digest, at, least)) for job in jobs]


def with_known(job: Job, known: Known) -> Job:
    """A job with what a ledger knows of it."""
    return replace(job, known=known.verdicts, known_isolation=known.isolation.value)


def with_roster(
    results: Sequence[SubmissionResult], students: Sequence[Student], settings: Settings
) -> list[SubmissionResult]:
    """Results in the roster's order, with a row for everybody on it; submissions of nobody on it come last."""
    owners = assign(students, [result.name for result in results])
    full = sum(EXERCISES[name].points for name in settings.exercises)
    rows = []
    for student in students:
        own = [result for result in results if owners.get(result.name) == student]
        if not own:
            rows.append(
                SubmissionResult(printable(student.id, MAX_NAME), (), full, ungradable=MISSING, student=student.name)
            )
        several = (f"{len(own)} submissions fit this id: decide which counts.",) if len(own) > 1 else ()
        rows += [replace(result, student=student.name, notes=result.notes + several) for result in own]
    strangers = [result for result in results if result.name not in owners]
    rows += [replace(result, notes=(*result.notes, "Nobody on the roster has this id.")) for result in strangers]
    return rows


def write_json(path: Path, data: object) -> None:
    """Write data as JSON, as `write_text` writes. Raises OSError."""
    write_text(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: an interrupted run leaves the old one. Line ends stay. Raises OSError.

    What is not a plain file (a pipe, /dev/stdout) is written to; a link's target is replaced, not the link.
    """
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8", newline="")
        return
    target = path.resolve()
    part = target.with_name(f".{target.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="")
        os.replace(part, target)
    except OSError:
        part.unlink(missing_ok=True)
        raise
