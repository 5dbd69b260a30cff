"""`nanolm grade --github`: a pull request's hand-in in the trusted job, or submissions that are named, in any job."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from grader.files import write_json
from grader.github import publish
from grader.github.api import ApiError, GitHub
from grader.github.event import EventError, Run, graded_commit, hand_in, pull_request_number, read_run
from grader.github.handin import Handed, fetch, pull_requests, write_files
from grader.grading import grade_paths
from grader.reports.github import command as log_line
from grader.reports.location import SourceFile, Sources, sources_of
from grader.reports.options import write_reports
from grader.results import SubmissionResult, grade_data
from grader.sandbox import Level, acceptable
from grader.session import Settings
from grader.table import console, grade_table, messages
from nanolm.course import EXERCISES

OK, FAILED, USAGE, UNGRADABLE, CANNOT_START = 0, 1, 2, 3, 4


def grade_hand_in(options: argparse.Namespace, settings: Settings) -> int:
    """Grade what the pull request of this `workflow_run` event handed over, and write the feedback."""
    if Level.WEAK in acceptable(settings.isolation):
        print("nanolm grade --github: a stranger's code needs --isolation best-medium or more", file=sys.stderr)
        return USAGE
    try:
        run = _run()
        told = hand_in(run)
    except EventError as error:
        print(f"nanolm grade --github: {error}", file=sys.stderr)
        return USAGE
    api = GitHub(run.api_url, run.token)
    try:
        pulls = pull_requests(api, run, told)
        handed = fetch(api, run, told)
    except ApiError as error:
        print(f"nanolm grade --github: {error}", file=sys.stderr)
        return CANNOT_START
    name = f"pull-{pulls[0]}" if pulls else f"commit-{told.commit[:12]}"
    result, sources = _graded(handed, name, settings)
    _show(result, with_messages=options.messages)
    status = write_reports(options, [result], [sources])
    if options.json:
        try:
            write_json(options.json, grade_data([result]))
        except OSError as error:
            print(f"nanolm grade: {str(options.json)!r} could not be written: {error.strerror}", file=sys.stderr)
            status = USAGE
    problems = _write(run, [result], [sources], publish.Target(told.commit, tuple(pulls)), api)
    if not pulls:
        print("No open pull request has this commit at its head any more: no comment was written.")
    for problem in problems:
        print(f"nanolm grade --github: {problem}", file=sys.stderr)
    if problems:
        return FAILED
    return status or (UNGRADABLE if result.ungradable else OK)


def report_named(results: Sequence[SubmissionResult], sources: Sequence[Sources]) -> int:
    """Write the feedback on submissions that were named: `--github` with a PATH. What the token may not do is told."""
    try:
        run = _run()
        commit = graded_commit(run)
        number = pull_request_number(run)
    except EventError as error:
        print(f"nanolm grade --github: {error}", file=sys.stderr)
        return USAGE
    for line in publish.log_commands(results, sources):
        print(line)
    target = publish.Target(commit, (number,) if number else ())
    api = GitHub(run.api_url, run.token) if run.token else None
    for problem in _write(run, results, sources, target, api):
        print(log_line("notice", problem))
    return OK


def _run() -> Run:
    run = read_run(os.environ)
    # Whatever this process starts from here on does not find the token in its environment.
    os.environ.pop("GITHUB_TOKEN", None)
    return run


def _graded(handed: Handed, name: str, settings: Settings) -> tuple[SubmissionResult, Sources]:
    if handed.problem:
        full = sum(EXERCISES[exercise].points for exercise in settings.exercises)
        return SubmissionResult(name, (), full, ungradable=handed.problem), {}
    with tempfile.TemporaryDirectory(prefix="nanolm-hand-in-") as scratch:
        folder = Path(scratch) / name
        write_files(folder, handed.files)
        (result,) = grade_paths([folder], settings, processes=1)
        texts = sources_of(folder, folder)
    return result, {file: SourceFile(f"exercises/{file}", source.text) for file, source in texts.items()}


def _show(result: SubmissionResult, *, with_messages: bool) -> None:
    out = console()
    out.print(grade_table([result]))
    for line in messages([result]) if with_messages else ():
        out.print(line)


def _write(
    run: Run,
    results: Sequence[SubmissionResult],
    sources: Sequence[Sources],
    target: publish.Target,
    api: GitHub | None,
) -> list[str]:
    """Write all of it; what could not be written is told in sentences."""
    try:
        publish.write_files(results, run)
    except OSError as error:
        return [f"the job's summary could not be written: {error.strerror}"]
    if api is None or len(results) != 1:
        return []
    return publish.write_online(results[0], sources[0], run, target, api)
