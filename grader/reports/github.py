"""GitHub's own formats: workflow commands for a log, check runs with annotations for a commit.

Text in annotations and in workflow commands is plain to GitHub; a check's summary is Markdown (`reports.markdown`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from grader.reports import markdown
from grader.reports.annotations import Annotation, annotate
from grader.reports.location import Sources
from grader.results import SubmissionResult
from nanolm.scoreboard import by_exercise, exercise_status
from nanolm.texts import text
from nanolm.verdict import Verdict

PER_REQUEST = 50
"""Annotations that one request may carry; more are added by updating the check."""
PER_STEP = 10
"""Errors that GitHub shows of one step's log."""
TITLE_CHARACTERS, MESSAGE_BYTES = 250, 60_000
PREFIX = "nanolm"
CONCLUSIONS = {"passed": "success", "failed": "failure", "not_attempted": "neutral"}


# ── Workflow commands ────────────────────────────────────────────────────────────────────────────────────────────────


def workflow_commands(notes: Sequence[Annotation]) -> Iterator[str]:
    """`::error` lines for a step's log; where there are more than GitHub shows, the last line says so."""
    kept = notes if len(notes) <= PER_STEP else notes[: PER_STEP - 1]
    for note in kept:
        place = f"file={_property(note.where.path)},line={note.where.line}"
        yield f"::error {place},title={_property(note.title[:TITLE_CHARACTERS])}::{_data(note.message)}"
    if len(kept) < len(notes):
        yield f"::error ::{len(notes) - len(kept)} more are in the job summary"


def command(level: str, message: str) -> str:
    """One workflow command without a place: a `notice`, a `warning` or an `error`."""
    return f"::{level} ::{_data(message)}"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")


# ── Check runs ───────────────────────────────────────────────────────────────────────────────────────────────────────


def check_runs(result: SubmissionResult, sources: Sources, commit: str) -> list[list[dict[str, Any]]]:
    """For each check, the body that creates it and the bodies that update it with further annotations.

    One check says the total, one each exercise. Where there is no grade, only the first is there, and it is neutral:
    what could not be graded is not a failure.
    """
    if result.ungradable:
        return [[_body(PREFIX, commit, "neutral", "could not be graded", markdown.head(result))]]
    whole = "success" if result.score == result.max_score else "neutral"
    title = f"{result.score:g} of {result.max_score:g} points"
    checks = [[_body(PREFIX, commit, whole, title, markdown.fitted([markdown.head(result)], markdown.COMMENT_BYTES))]]
    notes = annotate(result, sources)
    for name, members in by_exercise(result.verdicts).items():
        checks.append(_exercise(name, members, result, [note for note in notes if note.exercise == name], commit))
    return checks


def _exercise(
    name: str, members: Sequence[Verdict], whole: SubmissionResult, notes: Sequence[Annotation], commit: str
) -> list[dict[str, Any]]:
    status = exercise_status(members)
    score, full = sum(each.score for each in members), sum(each.max_score for each in members)
    cause = markdown.cause_words(members) or text("scoreboard", status)
    own = SubmissionResult(whole.name, tuple(members), full, isolation=whole.isolation)
    summary = markdown.fitted([markdown.head(own), *markdown.sections(own)], markdown.COMMENT_BYTES)
    check = f"{PREFIX} / {name}"
    body = _body(check, commit, CONCLUSIONS[status], f"{score:g} of {full:g}: {cause}", summary)
    pages = [[_annotation(note) for note in notes[at : at + PER_REQUEST]] for at in range(0, len(notes), PER_REQUEST)]
    body["output"]["annotations"] = pages[0] if pages else []
    # An update repeats title and summary: GitHub asks for both wherever there is an `output`.
    return [body, *({"output": {**body["output"], "annotations": page}} for page in pages[1:])]


def _body(name: str, commit: str, conclusion: str, title: str, summary: str) -> dict[str, Any]:
    return {
        "name": name,
        "head_sha": commit,
        "status": "completed",
        "conclusion": conclusion,
        "output": {"title": title[:TITLE_CHARACTERS], "summary": summary},
    }


def _annotation(note: Annotation) -> dict[str, Any]:
    message = note.message.encode("utf-8", "backslashreplace")[:MESSAGE_BYTES].decode("utf-8", "ignore")
    return {
        "path": note.where.path,
        "start_line": note.where.line,
        "end_line": note.where.line,
        "annotation_level": "failure",
        "title": note.title[:TITLE_CHARACTERS],
        "message": message,
    }
