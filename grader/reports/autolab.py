"""Autolab: what an autograder prints, feedback first and the autoresult in the last line.

Autolab reads the last line as the scores of its problems, here one an exercise under the exercise's id, and the line
before as the layout of the feedback. A result without scores, or with no line at all, it stores as zeros; so a
submission without a grade gives each problem a `null`, which its database keeps as "not scored". No text of a student's
stands in the layout: who shows it may take it for HTML.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from grader.results import SubmissionResult
from nanolm.course import EXERCISES
from nanolm.protocol import Outcome
from nanolm.scoreboard import by_exercise, lines
from nanolm.untrusted import printable

MAX_MESSAGE = 4000


def autolab(result: SubmissionResult, exercises: Sequence[str] = ()) -> str:
    """Feedback, layout and autoresult. `exercises` are those that a submission without a grade leaves unscored."""
    grouped = by_exercise(result.verdicts)
    names = list(grouped) or list(exercises or EXERCISES)
    if result.ungradable:
        told = [f"There is no grade for this submission; that is not a zero. {printable(result.ungradable, 2000)}"]
        scores: dict[str, float | None] = dict.fromkeys(names)
    else:
        told = [line.rstrip() for line, _ in lines(result.verdicts, {})]
        scores = {name: sum(verdict.score for verdict in members) for name, members in grouped.items()}
    told += [f"Note: {printable(note, 400)}" for note in result.notes]
    for verdict in result.verdicts:
        if verdict.outcome not in (Outcome.PASSED, Outcome.NOT_ATTEMPTED, Outcome.NOT_RUN_HERE):
            message = printable(verdict.message, MAX_MESSAGE, newlines=True)
            told += ["", f"{verdict.test}: {verdict.outcome.value.replace('_', ' ')}"]
            told += [f"  {line}" for line in message.splitlines()]
    layout: dict[str, object] = {"_presentation": "semantic", "stages": list(grouped)}
    for name, members in grouped.items():
        layout[name] = {
            verdict.test.rpartition("::")[2]: {"passed": True}
            if verdict.outcome is Outcome.PASSED
            else {"passed": False, "hint": verdict.outcome.value.replace("_", " ")}
            for verdict in members
        }
    return "\n".join([*map(printable_line, told), json.dumps(layout), json.dumps({"scores": scores})]) + "\n"


def printable_line(text: str) -> str:
    """A line of feedback that can be no layout and no autoresult of its own."""
    return printable(f" {text}" if text.lstrip().startswith("{") else text, 2400)
