"""From paths to grades: read each submission, grade what no ledger knows, keep the JSON file whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from grader.bank import given
from grader.circumstances import circumstances, described
from grader.gpu.merge import GpuRun, record, recorded, with_devices
from grader.job import Job
from grader.ledger import Known, Ledger, Recording
from grader.notebooks.released import released
from grader.pool import grade_all
from grader.results import SubmissionResult
from grader.roster import Student, assign
from grader.sandbox import acceptable
from grader.session import Settings
from grader.submissions import MAX_NAME, Submission, name_submissions, read_submission
from grader.table import stepping
from nanolm.course import EXERCISES, exercise_files
from nanolm.untrusted import printable

MISSING = "Nothing was handed in under this id."


def grade_paths(
    paths: Sequence[Path],
    settings: Settings,
    *,
    processes: int | None = None,
    ledger: Path | None = None,
    gpu: Sequence[GpuRun] = (),
) -> list[SubmissionResult]:
    """Read and grade submissions in the order given, under their paths' tails. Raises CannotStart, LedgerError."""
    submissions = _read(paths, settings.root)
    return grade_submissions(submissions, settings, processes=processes, ledger=ledger, gpu=gpu)


def _read(paths: Sequence[Path], root: Path) -> list[Submission]:
    course = released(root)
    return [
        read_submission(path, exercise_files(), name=name, released=course)
        for path, name in zip(paths, name_submissions(paths), strict=True)
    ]


def grade_submissions(
    submissions: Sequence[Submission],
    settings: Settings,
    *,
    processes: int | None = None,
    ledger: Path | None = None,
    gpu: Sequence[GpuRun] = (),
) -> list[SubmissionResult]:
    """Grade submissions that have been read. Raises CannotStart, LedgerError.

    With a ledger, verdicts that it has are taken from it, and new ones are written into it as they are given; those of
    GPU jobs too.
    """
    ours = given(settings.root)
    jobs = [_job(submission, ours) for submission in submissions]
    recording = Recording(ledger, circumstances(settings)) if ledger else None
    if recording:
        jobs = _look_up(jobs, recording, settings)
    results = grade_jobs(jobs, settings, processes=processes, recording=recording)
    return _with_devices(jobs, results, settings, ledger, gpu)


def _with_devices(
    jobs: Sequence[Job],
    results: Sequence[SubmissionResult],
    settings: Settings,
    path: Path | None,
    runs: Sequence[GpuRun],
) -> list[SubmissionResult]:
    """Results with the verdicts that GPU jobs gave under these very tests, out of the ledger and out of their files."""
    if path is None and not runs:
        return list(results)
    bundle = circumstances(settings).bundle
    if path is None:
        entries = [entry for run in runs if run.at.bundle == bundle for entry in run.entries()]
        known = {job.digest: [entry for entry in entries if entry.submission == job.digest] for job in jobs}
    else:
        with Ledger(path) as ledger:
            for run in runs:
                record(run, ledger)
            known = {job.digest: recorded(ledger, job.digest, bundle) for job in jobs}
    return [with_devices(result, known[job.digest]) for job, result in zip(jobs, results, strict=True)]


def grade_jobs(
    jobs: Sequence[Job], settings: Settings, *, processes: int | None = None, recording: Recording | None = None
) -> list[SubmissionResult]:
    """Grade jobs."""
    with stepping("grading", len(jobs)) as step:
        results = grade_all(jobs, settings, lambda result: step(), processes=processes, recording=recording)
    # A submission that never reached the tests still has the exercises' full points as its maximum.
    full = sum(EXERCISES[name].points for name in settings.exercises)
    return [replace(result, max_score=result.max_score or full) for result in results]


def read_jobs(paths: Sequence[Path], root: Path) -> list[Job]:
    """Submissions as jobs, in the order given, with the files that the course below `root` gives."""
    ours = given(root)
    return [_job(submission, ours) for submission in _read(paths, root)]


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
