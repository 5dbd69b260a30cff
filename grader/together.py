"""What the tests of an exercise tell together: an outcome of one that is an outcome of all. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nanolm.protocol import Outcome
from nanolm.scoreboard import by_exercise
from nanolm.verdict import Verdict

SAME_ANYWHERE = frozenset({Outcome.NOT_ATTEMPTED, Outcome.EXCEPTION})
"""Ends that need no machine in particular: nothing is written yet, or the file cannot be imported."""


def settled(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Verdicts, in their order, as they stand once all tests of their exercises have ended.

    Where one test is forbidden, all are: also those that ended before the operator was called. Where every test ended
    alike because there is nothing that could run, one that waits for another machine has ended so too.
    """
    whole: dict[str, Verdict] = {}
    for exercise, members in by_exercise(verdicts).items():
        for verdict in members:
            if verdict.outcome is Outcome.FORBIDDEN:
                whole.setdefault(exercise, verdict)
        ran = [verdict for verdict in members if verdict.outcome is not Outcome.NOT_RUN_HERE]
        if len({_end(verdict) for verdict in ran}) == 1:
            whole.setdefault(exercise, ran[0])
    return tuple(_with_the_others(verdict, whole.get(verdict.exercise)) for verdict in verdicts)


def _end(verdict: Verdict) -> tuple[Outcome, str]:
    """How a test ended; a file that cannot be imported says the same in each, and each stub its own task."""
    return verdict.outcome, verdict.message if verdict.outcome is Outcome.EXCEPTION else ""


def _with_the_others(verdict: Verdict, whole: Verdict | None) -> Verdict:
    if whole is None or verdict.outcome in (Outcome.FORBIDDEN, Outcome.INFRASTRUCTURE):
        return verdict
    waits = verdict.outcome is Outcome.NOT_RUN_HERE and whole.outcome in SAME_ANYWHERE
    if whole.outcome is not Outcome.FORBIDDEN and not waits:
        return verdict
    return replace(
        verdict, outcome=whole.outcome, score=0.0, message=whole.message, mistakes=(), notes=(), closeness=None
    )
