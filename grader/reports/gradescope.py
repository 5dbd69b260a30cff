"""Gradescope's `results.json` of one submission.

A score is in it only where there is a grade. Gradescope's specification demands a score at the top or in every test; a
file without one is no valid result, so that a failure of the autograder's shows as one and never as a zero.
"""

from __future__ import annotations

from typing import Any, Literal

from grader.late import LatePolicy, hundredths
from grader.results import SCHEMA, SubmissionResult
from nanolm.protocol import Outcome
from nanolm.scoreboard import by_exercise, lines
from nanolm.untrusted import printable
from nanolm.verdict import Verdict

Visibility = Literal["visible", "hidden", "after_due_date", "after_published"]
VISIBILITIES: tuple[Visibility, ...] = ("visible", "after_due_date", "after_published", "hidden")

NO_GRADE = "There is no grade for this submission; that is not a zero. "
MAX_OUTPUT = 8000


def gradescope(
    result: SubmissionResult,
    *,
    visibility: Visibility = "visible",
    policy: LatePolicy | None = None,
    seconds_late: float = 0.0,
) -> dict[str, Any]:
    """The content of `results.json`; everything in it is shown as text, never as markup."""
    data: dict[str, Any] = {
        "output": _output(result, policy, seconds_late),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": visibility,
        "stdout_visibility": "hidden",
        "execution_time": round(result.seconds, 3),
    }
    if result.ungradable:
        # Nothing of it is worth hiding until a date, and no score may be in it.
        return {**data, "visibility": "visible", "extra_data": {"schema": SCHEMA, "status": "ungradable"}}
    left = (policy or LatePolicy()).after(result.score, result.max_score, seconds_late)
    return {
        "score": left,
        **data,
        "tests": [
            _test(verdict, f"{place}.{number}")
            for place, members in enumerate(by_exercise(result.verdicts).values(), 1)
            for number, verdict in enumerate(members, 1)
        ],
        "extra_data": {
            "schema": SCHEMA,
            "status": "graded",
            "earned": result.score,
            "max_score": result.max_score,
            "seconds_late": round(seconds_late, 3),
            "isolation": result.isolation,
            "exercises": {
                name: sum(verdict.score for verdict in members)
                for name, members in by_exercise(result.verdicts).items()
            },
            "root_causes": [cause.id for cause in result.root_causes],
        },
    }


def failure(sentence: str) -> dict[str, Any]:
    """The content of `results.json` where the autograder itself failed: a sentence, and no score."""
    return {
        "output": printable(f"{NO_GRADE}{sentence}", MAX_OUTPUT),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"schema": SCHEMA, "status": "ungradable"},
    }


def _test(verdict: Verdict, number: str) -> dict[str, Any]:
    words = verdict.outcome.value.replace("_", " ")
    data: dict[str, Any] = {
        "name": f"{verdict.exercise}: {verdict.test.rpartition('::')[2]}",
        "number": number,
        "score": verdict.score,
        "max_score": verdict.max_score,
        "status": "passed" if verdict.outcome is Outcome.PASSED else "failed",
        "output": words if verdict.outcome is not Outcome.PASSED else "",
        "tags": [verdict.exercise, verdict.outcome.value],
    }
    if verdict.message:
        data["output"] = f"{words}\n\n{printable(verdict.message, MAX_OUTPUT, newlines=True)}"
    if verdict.outcome is Outcome.NOT_RUN_HERE:  # neither passed nor failed, and worth nothing
        del data["status"]
    return data


def _output(result: SubmissionResult, policy: LatePolicy | None, seconds_late: float) -> str:
    if result.ungradable:
        told = [NO_GRADE + printable(result.ungradable, 2000)]
    else:
        told = [line.rstrip() for line, _ in lines(result.verdicts, {})]
    if policy is not None and seconds_late > 0 and not result.ungradable:
        penalty = hundredths(policy.penalty(result.score, result.max_score, seconds_late))
        told.append(f"Late by {seconds_late / 3600:.1f} hours ({policy}): {penalty:g} points off.")
    told += [f"Note: {printable(note, 400)}" for note in result.notes]
    return printable("\n".join(told), MAX_OUTPUT, newlines=True)
