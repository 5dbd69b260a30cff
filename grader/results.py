"""The grade of a submission, and the contract's JSON of it. Pure functions of verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nanolm.diagnosis import root_causes
from nanolm.protocol import Outcome
from nanolm.scoreboard import by_exercise, exercise_status
from nanolm.texts import mistake
from nanolm.verdict import NamedMistake, Verdict

SCHEMA = "nanolm.grade/1"


@dataclass(frozen=True)
class SubmissionResult:
    """One submission's verdicts; `ungradable` is the reason where there can be no grade. Never a silent zero."""

    name: str
    verdicts: tuple[Verdict, ...]
    max_score: float
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    ungradable: str | None = None
    student: str = ""
    """The name on the roster, where there is a roster."""
    isolation: str = ""
    """The level of the workers that it was graded in; empty where none was needed."""

    @property
    def score(self) -> float:
        """Points earned; 0 where there is no grade (the status says so)."""
        return 0.0 if self.ungradable else sum(verdict.score for verdict in self.verdicts)

    @property
    def root_causes(self) -> list[NamedMistake]:
        """Named mistakes over all exercises, the likeliest of each exercise first."""
        return [cause for members in by_exercise(self.verdicts).values() for cause in root_causes(members)]


def grade_data(results: Sequence[SubmissionResult]) -> dict[str, Any]:
    """The contract's `nanolm.grade/1` of a whole run."""
    return {"schema": SCHEMA, "submissions": [submission_data(result) for result in results]}


def submission_data(result: SubmissionResult) -> dict[str, Any]:
    """One entry of `submissions`."""
    data: dict[str, Any] = {
        "submission": result.name,
        **({"student": result.student} if result.student else {}),
        "status": "ungradable" if result.ungradable else "graded",
        "score": result.score,
        "max_score": result.max_score,
        "seconds": round(result.seconds, 3),
        "isolation": result.isolation,
        "notes": list(result.notes),
        "exercises": [],
    }
    if result.ungradable:
        data["reason"] = result.ungradable
        return data
    for name, members in by_exercise(result.verdicts).items():
        data["exercises"].append(
            {
                "id": name,
                "score": sum(verdict.score for verdict in members),
                "max_score": sum(verdict.max_score for verdict in members),
                "status": exercise_status(members),
                "mistakes": [mistake_data(cause) for cause in root_causes(members)],
                "notes": list(dict.fromkeys(note for verdict in members for note in verdict.notes)),
                "tests": [test_data(verdict) for verdict in members],
            }
        )
    return data


def mistake_data(cause: NamedMistake) -> dict[str, str]:
    """A named mistake with what speaks for it and the question it asks."""
    entry = mistake(cause.id)
    message = f"{entry['title']}: {cause.message}. {entry['question']}"
    return {"id": cause.id, "evidence": cause.evidence, "message": message}


def test_data(verdict: Verdict) -> dict[str, Any]:
    """One entry of `tests`."""
    return {
        "id": verdict.test,
        "outcome": verdict.outcome.value,
        "score": verdict.score,
        "max_score": verdict.max_score,
        "message": verdict.message,
    }


def has_infrastructure(verdicts: Sequence[Verdict]) -> bool:
    """Whether any verdict tells of our side rather than of the student's."""
    return any(verdict.outcome is Outcome.INFRASTRUCTURE for verdict in verdicts)
