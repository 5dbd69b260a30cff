"""Annotations: one note on a line of the student's file for each cause, with the tests that fail for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.reports.location import Location, Sources, locate
from grader.results import SubmissionResult
from nanolm.judge import cause_of
from nanolm.protocol import Outcome
from nanolm.scoreboard import by_exercise
from nanolm.texts import mistake
from nanolm.untrusted import listed, printable
from nanolm.verdict import Verdict

SILENT = (Outcome.PASSED, Outcome.NOT_ATTEMPTED, Outcome.NOT_RUN_HERE)
"""Outcomes that say nothing about a line."""

OUTCOMES = frozenset(outcome.value for outcome in Outcome)

MESSAGE_LIMIT = 6000
LISTED = 12


@dataclass(frozen=True)
class Annotation:
    """What is said about one line: a title of ours, and a message that quotes the student's code as plain text."""

    exercise: str
    where: Location
    title: str
    message: str
    check: str
    """The mistake's id where it has a name, else the outcome: what a report counts by."""
    tests: tuple[str, ...]


def annotate(result: SubmissionResult, sources: Sources) -> list[Annotation]:
    """One annotation for each exercise, cause and line; named mistakes first."""
    if result.ungradable:
        return []
    made: list[Annotation] = []
    for exercise, members in by_exercise(result.verdicts).items():
        groups: dict[tuple[str, Location], list[Verdict]] = {}
        for verdict in members:
            where = None if verdict.outcome in SILENT else locate(verdict, sources)
            if where is not None:
                groups.setdefault((_check(verdict), where), []).append(verdict)
        own = [_annotation(exercise, check, where, failed) for (check, where), failed in groups.items()]
        made += sorted(own, key=lambda each: each.check in OUTCOMES)
    return made


def _check(verdict: Verdict) -> str:
    cause = cause_of(verdict)
    return verdict.outcome.value if cause is None else cause.id


def _annotation(exercise: str, check: str, where: Location, failed: Sequence[Verdict]) -> Annotation:
    names = tuple(verdict.test.rpartition("::")[2] for verdict in failed)
    cause = cause_of(failed[0])
    title = f"{exercise}: {check.replace('_', ' ')}" if cause is None else f"{cause.id}: {mistake(cause.id)['title']}"
    also = f"\n\nAlso fails: {listed(names[1:], LISTED)}." if len(names) > 1 else ""
    message = f"{names[0]}\n{printable(failed[0].message, MESSAGE_LIMIT, newlines=True)}{also}"
    return Annotation(exercise, where, title, message, check, names)
