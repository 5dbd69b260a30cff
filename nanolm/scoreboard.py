"""The summary of a run: one line an exercise, with its root cause. A pure function of verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nanolm.course import EXERCISES
from nanolm.diagnosis import root_causes
from nanolm.protocol import Outcome
from nanolm.texts import mistake, text
from nanolm.verdict import NamedMistake, Verdict

Style = dict[str, bool]

LISTED = 4
"""Failed tests that a cause lists by name; the messages above have them all."""


def exercise_status(verdicts: Sequence[Verdict]) -> str:
    """`passed`, `failed` or `not_attempted`, as the contract has it. Tests without points decide nothing."""
    counting = [verdict for verdict in verdicts if verdict.max_score > 0] or verdicts
    outcomes = {verdict.outcome for verdict in counting}
    if outcomes <= {Outcome.PASSED, Outcome.NOT_RUN_HERE} and Outcome.PASSED in outcomes:
        return "passed"
    if outcomes <= {Outcome.NOT_ATTEMPTED, Outcome.NOT_RUN_HERE} and Outcome.NOT_ATTEMPTED in outcomes:
        return "not_attempted"
    return "failed"


def by_exercise(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    """Verdicts grouped by exercise, in course order."""
    grouped = {name: [v for v in verdicts if v.exercise == name] for name in EXERCISES}
    return {name: members for name, members in grouped.items() if members}


def explained_by(cause: NamedMistake, failed: Sequence[Verdict]) -> int:
    """How many failed tests a root cause explains: all where the numbers are equal throughout, else those it names."""
    if cause.evidence == "output" and cause.share == 1.0:
        return len(failed)
    return sum(cause.id in verdict.catches for verdict in failed)


def lines(verdicts: Sequence[Verdict], deselected: Mapping[str, int]) -> Iterator[tuple[str, Style]]:
    """Lines of the scoreboard with pytest's markup for each."""
    grouped = by_exercise(verdicts)
    for name, members in grouped.items():
        status = exercise_status(members)
        score, full = sum(v.score for v in members), sum(v.max_score for v in members)
        left_out = deselected.get(name, 0)
        partial = text("scoreboard", "partial", run=len(members), all=len(members) + left_out) if left_out else ""
        style = {"passed": {"green": True}, "failed": {"red": True}, "not_attempted": {"yellow": True}}[status]
        yield f"{name:<14}{score:>6.1f} / {full:<5.1f} {text('scoreboard', status)}{partial}", style
        if status == "failed":
            yield from _causes(members)
        for note in dict.fromkeys(note for verdict in members for note in verdict.notes):
            yield text("scoreboard", "note", note=note), {}
    total, full = sum(v.score for v in verdicts), sum(v.max_score for v in verdicts)
    yield f"{'total':<14}{total:>6.1f} / {full:<5.1f}", {"bold": True}


def _causes(members: Sequence[Verdict]) -> Iterator[tuple[str, Style]]:
    """Each root cause above the failures that it explains; every failure stands below the first that does."""
    failed = [v for v in members if v.outcome not in (Outcome.PASSED, Outcome.NOT_ATTEMPTED, Outcome.NOT_RUN_HERE)]
    left = list(failed)
    causes = root_causes(members)
    for cause in causes:
        count = explained_by(cause, failed)
        title = mistake(cause.id)["title"]
        mine = [v for v in left if explained_by(cause, [v])]
        if mine:
            yield text("scoreboard", "cause", id=cause.id, title=title, count=count, failed=len(failed)), {"bold": True}
        else:
            yield text("scoreboard", "cause_beside", id=cause.id, title=title), {"bold": True}
        yield from _tests(mine)
        left = [v for v in left if v not in mine]
    if left and causes:
        yield text("scoreboard", "more", count=len(left), failed=len(failed)), {}
        yield from _tests(left)
    elif left:
        outcomes = ", ".join(dict.fromkeys(v.outcome.value.replace("_", " ") for v in left))
        yield text("scoreboard", "unnamed", count=len(left), outcomes=outcomes), {}


def _tests(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, Style]]:
    for verdict in verdicts[:LISTED]:
        yield text("scoreboard", "explained", test=verdict.test.rpartition("::")[2]), {}
    if len(verdicts) > LISTED:
        yield text("scoreboard", "others", count=len(verdicts) - LISTED), {}
