"""Tables for the terminal. Student text goes in as plain text, never as markup."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from grader.results import SubmissionResult
from grader.submissions import MAX_NAME
from nanolm.protocol import Outcome
from nanolm.scoreboard import by_exercise, exercise_status
from nanolm.texts import mistake
from nanolm.untrusted import printable
from nanolm.verdict import Verdict

PLAIN_WIDTH = 200
STYLES = {"passed": "green", "failed": "red", "not_attempted": "yellow", "ungradable": "magenta"}


def console(stderr: bool = False) -> Console:
    """A console; where the output is a file it is wide and without colour."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, width=None if terminal else PLAIN_WIDTH, highlight=False, markup=False, emoji=False)


class Rate(ProgressColumn):
    """Steps a second, or a minute where they are slow."""

    def render(self, task: Task) -> Text:
        """The recent speed, nothing before there is one."""
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.0f}/min")


def progress(description: str) -> Progress:
    """A progress bar on stderr with rate and time left; silent where stderr is not a terminal."""
    return Progress(
        TextColumn(description),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console(stderr=True),
        disable=not sys.stderr.isatty(),
    )


@contextmanager
def stepping(description: str, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar over `total` steps; gives the function that makes one."""
    with progress(description) as bar:
        task = bar.add_task(description, total=total)
        yield lambda: bar.advance(task)


def grade_table(results: Sequence[SubmissionResult]) -> Table:
    """One row a submission: score, each exercise's score, and the root causes."""
    exercises = list(dict.fromkeys(name for result in results for name in by_exercise(result.verdicts)))
    table = Table(show_lines=False, pad_edge=False)
    table.add_column("submission", overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    for name in exercises:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("root cause", overflow="fold")
    for result in results:
        cells = [Text(printable(result.name, MAX_NAME)), Text(_score(result))]
        grouped = by_exercise(result.verdicts)
        for name in exercises:
            members = grouped.get(name, [])
            status = exercise_status(members) if members and not result.ungradable else "ungradable"
            shown = "–" if status in ("not_attempted", "ungradable") else f"{sum(v.score for v in members):.1f}"
            cells.append(Text(shown, style=STYLES[status]))
        table.add_row(*cells, _cause(result))
    return table


def _score(result: SubmissionResult) -> str:
    return "no grade" if result.ungradable else f"{result.score:.1f} / {result.max_score:.0f}"


def _cause(result: SubmissionResult) -> Text:
    if result.ungradable:
        return Text(f"ungradable: {printable(result.ungradable, 300)}", style="magenta")
    statuses = {exercise_status(members) for members in by_exercise(result.verdicts).values()}
    if statuses == {"not_attempted"}:
        return Text("nothing attempted")
    parts = [f"{cause.id} ({mistake(cause.id)['title']})" for cause in result.root_causes]
    waiting = 0
    for name, members in by_exercise(result.verdicts).items():
        if exercise_status(members) == "not_attempted":
            waiting += 1
        elif exercise_status(members) == "failed" and not any(cause.startswith(f"{name}-") for cause in parts):
            parts.append(f"{name}: {_outcomes(members)}")
    if waiting:
        parts.append(f"{waiting} not attempted")
    return Text("; ".join(parts))


def _outcomes(members: Sequence[Verdict]) -> str:
    told = (Outcome.PASSED, Outcome.NOT_RUN_HERE)
    failed = [verdict.outcome for verdict in members if verdict.outcome not in told]
    return ", ".join(dict.fromkeys(outcome.value.replace("_", " ") for outcome in failed))


def messages(results: Sequence[SubmissionResult]) -> Iterator[Text]:
    """What each student reads, test by test, the same words once; what was not attempted or not run says nothing."""
    silent = (Outcome.PASSED, Outcome.NOT_ATTEMPTED, Outcome.NOT_RUN_HERE)
    for result in results:
        told: dict[str, str] = {}
        yield Text(f"\n{printable(result.name, MAX_NAME)}: {_score(result)}", style="bold")
        if result.ungradable:
            yield Text(f"  {printable(result.ungradable, 2000)}")
        for note in result.notes:
            yield Text(f"  note: {printable(note, 400)}")
        for verdict in result.verdicts:
            if verdict.outcome in silent:
                continue
            first = told.setdefault(verdict.message, verdict.test)
            words = verdict.message if first == verdict.test else f"as in {first}"
            yield Text(f"\n{verdict.test}: {verdict.outcome.value.replace('_', ' ')}", style="red")
            yield Text("\n".join(f"  {line}" for line in words.splitlines()))


def margin_table(rows: Sequence[tuple[str, float, float, str]]) -> Table:
    """Shares of each test's tolerance, the tightest test first."""
    table = Table(title="shares of the tolerance (1 is the bound)", title_justify="left", pad_edge=False)
    for heading in ("test", "right answers, at most", "nearest mistake", "which"):
        table.add_column(heading, no_wrap=True)
    for test, used, beyond, label in rows:
        table.add_row(Text(test), Text(f"{used:.3g}"), Text(f"{beyond:.3g}"), Text(label))
    return table
