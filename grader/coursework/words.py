"""What nbgrader's pages say of an exercise: the comment below the answer, and the table in the check cell's output.

The comment is rendered as markdown, so it holds words of ours alone. What may hold a student's own text (messages,
notes) stands in the output, which is shown as plain text.
"""

from __future__ import annotations

from collections.abc import Iterator

from grader.coursework.standing import Standing
from nanolm.course import EXERCISES
from nanolm.diagnosis import root_causes
from nanolm.protocol import Outcome
from nanolm.scoreboard import exercise_status
from nanolm.texts import mistake
from nanolm.untrusted import printable

WIDTH = 64
MOST = 2000
"""Characters of one message."""


def comment(standing: Standing, exercise: str) -> str:
    """Score, likeliest cause, its question, and how the tests ended."""
    full = EXERCISES[exercise].points
    score = standing.score(exercise)
    if score is None:
        return "This answer could not be graded by the tests: a person has to look. The reason is in the cell below."
    verdicts = standing.verdicts[exercise]
    lines = [f"{score:g} of {full:g} points."]
    status = exercise_status(verdicts)
    if status == "not_attempted":
        lines.append("Not attempted.")
    for cause in root_causes(verdicts):
        entry = mistake(cause.id)
        lines.append(f"Likeliest cause: {cause.id}, {entry['title']}. {entry['question']} Read {entry['section']}.")
    if status == "failed":
        failed = [v for v in verdicts if v.outcome is not Outcome.PASSED]
        outcomes = dict.fromkeys(v.outcome.value.replace("_", " ") for v in failed)
        lines.append(f"{len(failed)} of {len(verdicts)} tests failed ({', '.join(outcomes)}); the cell below has them.")
    return "\n\n".join(lines)


def table(standing: Standing, exercise: str) -> str:
    """Test by test: outcome, points and message; then what was noted."""
    return "\n".join(_table(standing, exercise)) + "\n"


def _table(standing: Standing, exercise: str) -> Iterator[str]:
    full = EXERCISES[exercise].points
    score = standing.score(exercise)
    why = standing.why_none(exercise)
    if score is None:
        ours = f"Grading did not end with a verdict: run it again. {standing.trouble}".strip()
        yield f"{exercise}: no score. {printable(why or ours, MOST)}"
    else:
        yield f"{exercise}: {score:g} of {full:g} points"
        verdicts = standing.verdicts[exercise]
        for cause in root_causes(verdicts):
            entry = mistake(cause.id)
            yield f"Likeliest cause: {cause.id} ({entry['title']})."
            yield f"Ask yourself: {entry['question']} Read: {entry['section']}"
        yield ""
        for verdict in verdicts:
            name = verdict.test.rpartition("::")[2]
            outcome = verdict.outcome.value.replace("_", " ")
            yield f"{name:<{WIDTH}} {outcome:<16} {verdict.score:g} of {verdict.max_score:g}"
            if verdict.outcome not in (Outcome.PASSED, Outcome.NOT_ATTEMPTED):
                yield from (f"    {line}" for line in printable(verdict.message, MOST, newlines=True).splitlines())
    notes = [note for verdict in standing.verdicts.get(exercise, ()) for note in verdict.notes]
    for note in dict.fromkeys([*notes, *standing.submission.notes]):
        yield f"note: {printable(note, 400)}"
