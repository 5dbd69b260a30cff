"""The grade in GitHub's Markdown: scoreboard, root causes first, details folded.

Whatever a student can have written stands in a fenced code block and nowhere else: there Markdown knows no link, no
image, no HTML and no mention. Headings, tables and summaries hold words of ours alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from grader.results import SubmissionResult
from grader.submissions import MAX_NAME
from nanolm.course import EXERCISES
from nanolm.diagnosis import root_causes
from nanolm.judge import cause_of
from nanolm.protocol import Outcome
from nanolm.scoreboard import by_exercise, exercise_status, explained_by
from nanolm.texts import mistake, text
from nanolm.untrusted import listed, printable
from nanolm.verdict import NamedMistake, Verdict

SUMMARY_BYTES = 1_000_000
"""GitHub takes 1 MiB of job summary from a step, and drops all of it when there is more."""
COMMENT_BYTES = 60_000
"""GitHub takes 65536 characters of a comment, and as many of a check's summary."""

MARKER = "<!-- nanolm feedback -->"
"""First line of the one comment of a pull request, by which it is found again."""

MESSAGE_LIMIT, LISTED = 4000, 12
NOTES, NOTE_LIMIT, NOTED = 30, 400, 8000
SIGNS = {"passed": "✅", "failed": "❌", "not_attempted": "⬜"}
SILENT = (Outcome.PASSED, Outcome.NOT_ATTEMPTED, Outcome.NOT_RUN_HERE)
LEFT_OUT = "\n_More did not fit here. The whole of it is in the summary of the grading run._\n"


def plain(words: str) -> str:
    r"""Words of ours (a catalogue's title, a question) with what Markdown reads escaped: `x * y` stays `x * y`."""
    return re.sub(r"([\\`*_\[\]<>|~&@:!#$])", r"\\\1", words)


def fenced(words: str, limit: int = MESSAGE_LIMIT) -> str:
    """Student text as a code block that no run of backticks in it can end."""
    shown = printable(words, limit, newlines=True)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{shown}\n{fence}\n"


def summary(results: Sequence[SubmissionResult], limit: int = SUMMARY_BYTES) -> str:
    """The job summary of a run over one submission or several, in at most `limit` bytes of UTF-8."""
    parts: list[str] = []
    for result in results:
        name = fenced(result.name, MAX_NAME) if len(results) > 1 else ""
        parts += [f"{name}{head(result)}", *sections(result)]
    return fitted(parts, limit)


def comment(result: SubmissionResult, commit: str, limit: int = COMMENT_BYTES) -> str:
    """The comment on a pull request; `commit` is what was graded, in hexadecimal."""
    foot = f"\n<sub>Graded: commit {plain(commit[:12])}. This comment is renewed with every push.</sub>\n"
    room = limit - len(f"{MARKER}\n{foot}".encode())
    return f"{MARKER}\n{fitted([head(result), *sections(result)], room)}{foot}"


def fitted(parts: Sequence[str], limit: int) -> str:
    """Whole parts, in order, those that fit; a sentence says so where some are missing. No part is cut in two."""
    room = limit - len(LEFT_OUT.encode()) - 1
    taken: list[str] = []
    for part in parts:
        size = len(part.encode()) + 1
        if size <= room:
            taken.append(part)
            room -= size
    return "\n".join(taken if len(taken) == len(parts) else [*taken, LEFT_OUT])


# ── The head: grade, causes, scoreboard ──────────────────────────────────────────────────────────────────────────────


def head(result: SubmissionResult) -> str:
    """Points, likeliest causes, and one line an exercise."""
    if result.ungradable:
        return (
            f"## No grade\n\nThis could not be graded, which is not a zero. The reason:\n\n{fenced(result.ungradable)}"
        )
    causes = "\n".join(_causes(result))
    return f"## {result.score:g} of {result.max_score:g} points\n{causes}\n{scoreboard(result)}"


def _causes(result: SubmissionResult) -> Iterator[str]:
    grouped = by_exercise(result.verdicts)
    if not result.root_causes:
        return
    yield "\n**Start here**\n"
    for members in grouped.values():
        failed = failures(members)
        for cause in root_causes(members):
            yield f"- {_named(cause, failed)}"


def _named(cause: NamedMistake, failed: Sequence[Verdict]) -> str:
    entry = mistake(cause.id)
    count = explained_by(cause, failed)
    explains = f", explains {count} of {len(failed)} failed tests" if count else ""
    return (
        f"**{cause.id}** ({plain(entry['title'])}){explains}.\n"
        f"  Ask yourself: {plain(entry['question'])} Read: {plain(entry['section'])}."
    )


def scoreboard(result: SubmissionResult) -> str:
    """A table with a row an exercise."""
    rows = ["", "| exercise | points | status | root cause |", "|---|---:|---|---|"]
    for name, members in by_exercise(result.verdicts).items():
        status = exercise_status(members)
        score, full = sum(each.score for each in members), sum(each.max_score for each in members)
        shown = f"{SIGNS[status]} {text('scoreboard', status)}"
        rows.append(f"| {name} | {score:g} / {full:g} | {shown} | {plain(cause_words(members))} |")
    return "\n".join([*rows, ""])


def cause_words(members: Sequence[Verdict]) -> str:
    """An exercise's likeliest cause in a few words; the outcomes where it has no name; nothing where it passed."""
    named = root_causes(members)
    if named:
        more = f" and {len(named) - 1} more" if len(named) > 1 else ""
        return f"{named[0].id}: {mistake(named[0].id)['title']}{more}"
    outcomes = dict.fromkeys(each.outcome.value.replace("_", " ") for each in failures(members))
    return ", ".join(outcomes)


def failures(members: Sequence[Verdict]) -> list[Verdict]:
    """Verdicts that took points and say why."""
    return [verdict for verdict in members if verdict.outcome not in SILENT]


# ── Folded details ───────────────────────────────────────────────────────────────────────────────────────────────────


def sections(result: SubmissionResult) -> Iterator[str]:
    """A folded section for each exercise with failures, then the notes."""
    if not result.ungradable:
        for name, members in by_exercise(result.verdicts).items():
            ran = [verdict for verdict in members if verdict.outcome is not Outcome.NOT_RUN_HERE]
            if failed := failures(members):
                title = f"{name}: {len(failed)} of {len(ran)} tests failed ({EXERCISES[name].section})"
                yield folded(title, "\n".join(map(_told, _alike(failed))))
    notes = [*result.notes, *dict.fromkeys(note for verdict in result.verdicts for note in verdict.notes)]
    if notes:
        lines = [printable(note, NOTE_LIMIT) for note in notes[:NOTES]]
        more = [f"… and {len(notes) - NOTES} more"] if len(notes) > NOTES else []
        yield folded("Notes", fenced("\n".join(lines + more), NOTED))


def _alike(failed: Sequence[Verdict]) -> list[list[Verdict]]:
    """Failures with the same named cause, or else with the same words, together: these are read once."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in failed:
        cause = cause_of(verdict)
        groups.setdefault(verdict.message if cause is None else cause.id, []).append(verdict)
    return list(groups.values())


def _told(alike: Sequence[Verdict]) -> str:
    first, *others = alike
    name, outcome = first.test.rpartition("::")[2], first.outcome.value.replace("_", " ")
    missed = sum(each.max_score - each.score for each in alike)
    also = plain(f"Also fails: {listed(_names(others), LISTED)}.") + "\n" if others else ""
    return f"**{plain(name)}**: {outcome} ({missed:g} points lost)\n\n{fenced(first.message)}\n{also}"


def _names(verdicts: Sequence[Verdict]) -> list[str]:
    return [verdict.test.rpartition("::")[2] for verdict in verdicts]


def folded(title: str, body: str) -> str:
    """A section that opens on a click; the title is words of ours. Blank lines make the body Markdown again."""
    return f"<details><summary>{title}</summary>\n\n{body}\n</details>\n"
