"""Writes a grade where GitHub shows it: the job's summary and outputs, a log's commands, checks, one comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from grader.github.api import ApiError, GitHub
from grader.github.event import Run
from grader.reports import markdown
from grader.reports.annotations import annotate
from grader.reports.github import check_runs, workflow_commands
from grader.reports.location import Sources
from grader.results import SubmissionResult

BOT = "github-actions[bot]"
"""Who writes with a job's token. A comment of anybody else is never touched, whatever stands in it."""
COMMENT_TRIES = 3


@dataclass(frozen=True)
class Target:
    """The commit that was graded, and the pull requests whose head it is."""

    commit: str
    pulls: tuple[int, ...] = ()


def write_files(results: Sequence[SubmissionResult], run: Run) -> None:
    """Append to the job's summary and to the step's outputs. Raises OSError."""
    if run.summary is not None:
        with run.summary.open("a", encoding="utf-8") as stream:
            stream.write(markdown.summary(results))
    if run.output is not None and len(results) == 1:
        (result,) = results
        status = "ungradable" if result.ungradable else "graded"
        with run.output.open("a", encoding="utf-8") as stream:
            stream.write(f"status={status}\nscore={result.score:g}\nmax_score={result.max_score:g}\n")


def log_commands(results: Sequence[SubmissionResult], sources: Sequence[Sources]) -> Iterator[str]:
    """Lines for the log of a job that runs on the student's own commit."""
    notes = [note for result, files in zip(results, sources, strict=True) for note in annotate(result, files)]
    yield from workflow_commands(notes)


def write_online(result: SubmissionResult, sources: Sources, run: Run, target: Target, api: GitHub) -> list[str]:
    """Write the checks and the comments, each whether the other succeeds or not; returns what could not be written."""
    problems = []
    try:
        _write_checks(api, run.repository, check_runs(result, sources, target.commit))
    except ApiError as error:
        problems.append(f"the checks could not be written: {error}")
    body = markdown.comment(result, target.commit)
    for pull in target.pulls:
        try:
            write_comment(api, run.repository, pull, body)
        except ApiError as error:
            problems.append(f"the comment on pull request {pull} could not be written: {error}")
    return problems


def _write_checks(api: GitHub, repository: str, checks: Sequence[Sequence[dict[str, Any]]]) -> None:
    for first, *updates in checks:
        made = api.send("POST", f"/repos/{repository}/check-runs", first)
        for update in updates:
            api.send("PATCH", f"/repos/{repository}/check-runs/{_number(made)}", update)


def write_comment(api: GitHub, repository: str, pull: int, body: str) -> None:
    """Update our comment on a pull request, or write the first. Raises ApiError.

    A creation that failed on GitHub's side may have succeeded all the same: it is not repeated before another look.
    """
    for remaining in reversed(range(COMMENT_TRIES)):
        known = find_comment(api, repository, pull)
        try:
            if known is None:
                api.send("POST", f"/repos/{repository}/issues/{pull}/comments", {"body": body}, retry=False)
            else:
                api.send("PATCH", f"/repos/{repository}/issues/comments/{known}", {"body": body})
            return
        except ApiError as error:
            if not remaining or 0 < error.status < 500:
                raise


def find_comment(api: GitHub, repository: str, pull: int) -> int | None:
    """The number of our comment: it begins with the marker, and the job's own account wrote it."""
    for comment in api.pages(f"/repos/{repository}/issues/{pull}/comments"):
        try:
            ours = comment["user"]["login"] == BOT and comment["user"]["type"] == "Bot"
            if ours and str(comment["body"]).startswith(markdown.MARKER):
                return _number(comment)
        except (KeyError, TypeError):  # an account that was deleted
            continue
    return None


def _number(answer: Any) -> int:
    number = answer.get("id") if isinstance(answer, dict) else None
    if not isinstance(number, int):
        raise ApiError("GitHub answered without an id.")
    return number
