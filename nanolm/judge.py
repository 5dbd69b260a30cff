"""From how a test ended to its verdict, and from the verdict to the words that a student reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from nanolm.checks import CheckFailure, closeness
from nanolm.course import EXERCISES
from nanolm.implementation import TestCut
from nanolm.protocol import Outcome, StudentFault
from nanolm.texts import mistake, question_of, text
from nanolm.timelimit import time_limit
from nanolm.untrusted import printable
from nanolm.verdict import Learned, NamedMistake, Verdict

if TYPE_CHECKING:
    from nanolm.plugin import Run

NOT_DIAGNOSED = frozenset(
    {
        Outcome.PASSED,
        Outcome.NOT_ATTEMPTED,
        Outcome.FORBIDDEN,
        Outcome.TIMEOUT,
        Outcome.OUT_OF_MEMORY,
        Outcome.CRASHED,
        Outcome.NOT_RUN_HERE,
        Outcome.INFRASTRUCTURE,
    }
)

SAME_FAULT = frozenset({Outcome.EXCEPTION, Outcome.FORBIDDEN, Outcome.WRONG_INTERFACE, Outcome.TIMEOUT})
"""Outcomes whose words alone say what to do; when they come again in other tests, that is one fault, not many."""


def judge(test: str, mark: dict[str, Any], call: pytest.CallInfo[None], run: Run, *, drawn: bool) -> Verdict:
    """The verdict of one graded test. `drawn`: its inputs come from a seed, so a graded run keeps its numbers back."""
    error = call.excinfo.value if call.excinfo else None
    exercise, points = mark["exercise"], mark["points"]
    if call.when != "call" and not isinstance(error, pytest.skip.Exception):
        outcome, words, implied = Outcome.INFRASTRUCTURE, f"the test could not be set up: {error!r}", None
    else:
        outcome, words, implied = _read(error, hide_numbers=run.graded and drawn)
    mistakes: list[NamedMistake] = []
    earlier = ""
    if outcome not in NOT_DIAGNOSED:
        from nanolm.diagnosis import by_property

        learned = _learn(run, exercise, test, wrong=outcome is Outcome.WRONG_VALUE)
        mistakes = list(learned.named or ())
        if implied and implied not in {named.id for named in mistakes}:
            mistakes.append(by_property(implied))
        if outcome is Outcome.WRONG_VALUE and learned.first_wrong != test:
            earlier = learned.first_wrong.rpartition("::")[2]
    notes = tuple(printable(note) for note in run.implementation.notes)
    draft = Verdict(
        test=test,
        exercise=exercise,
        outcome=outcome,
        score=points if outcome is Outcome.PASSED else 0.0,
        max_score=points,
        mistakes=tuple(mistakes),
        notes=notes,
        seconds=call.duration,
        closeness=None if outcome is Outcome.NOT_RUN_HERE else closeness.worst,
        catches=mark["catches"],
    )
    if outcome is Outcome.TIMEOUT and not run.graded:
        run.timed_out[exercise] = run.timed_out.get(exercise, 0) + 1
    if error is None:
        return draft
    # Whoever reads one report after another is told the same thing once; a grade's messages each stand alone.
    cause = cause_of(draft)
    again = cause is not None and cause.id in run.told
    repeats = outcome in SAME_FAULT and words in run.told
    if not run.graded:
        run.told |= {words} | ({cause.id} if cause is not None else set())
    return replace(draft, message="\n".join(_message(draft, words, again=again, earlier=earlier)), repeats=repeats)


def _learn(run: Run, exercise: str, test: str, *, wrong: bool) -> Learned:
    """What the exercise's tests have shown up to this one, which has failed; its probes run at the first failure."""
    before = run.recall(exercise)
    first_wrong = before.first_wrong or (test if wrong else "")
    named = before.named
    if named is None:
        run.learned[exercise] = Learned((), first_wrong)  # a fault of ours while probing must not repeat for every test
        named = _named(run, exercise, test)
    run.learned[exercise] = after = Learned(named, first_wrong)
    return after


def _named(run: Run, exercise: str, test: str) -> tuple[NamedMistake, ...]:
    """What the probes say. They call student code outside any test: it may hang there as well as in one."""
    from nanolm.diagnosis import diagnose
    from nanolm.execution import TimeLimitReached

    if run.limit_seconds <= 0:
        return diagnose(run.connect(), exercise)
    try:
        with time_limit(run.limit_seconds, test):
            return diagnose(run.connect(), exercise)
    except TimeLimitReached:
        return ()


def _read(error: BaseException | None, *, hide_numbers: bool) -> tuple[Outcome, str, str | None]:
    """Outcome, words and implied mistake of what a test raised."""
    if error is None:
        return Outcome.PASSED, "", None
    if isinstance(error, pytest.skip.Exception):
        return Outcome.NOT_RUN_HERE, str(error), None
    for cause in _tree(error):
        if isinstance(cause, CheckFailure):
            shown = text("checks", "numbers_hidden") if hide_numbers and cause.numbers else cause.numbers
            words = "\n".join(filter(None, [cause.headline, shown]))
            # A message may hold names that a student chose.
            return cause.outcome, printable(words, 2000, newlines=True), cause.implies
        if isinstance(cause, TestCut):
            return cause.fault.outcome, fault_words(cause.fault), None
        if isinstance(cause, StudentFault):
            return cause.outcome, fault_words(cause), None
        if type(cause).__name__ == "TimeLimitReached":
            return Outcome.TIMEOUT, str(cause), None
    if type(error).__module__.startswith("hypothesis"):
        return Outcome.WRONG_VALUE, text("checks", "not_repeatable"), None
    return Outcome.INFRASTRUCTURE, f"the test itself failed: {printable(repr(error), 500)}", None


def _tree(error: BaseException, depth: int = 0) -> Iterator[BaseException]:
    """The exception, those it groups and those it came from."""
    if depth > 8:
        return
    yield error
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from _tree(member, depth + 1)
    if error.__cause__ is not None:
        yield from _tree(error.__cause__, depth + 1)


def fault_words(fault: StudentFault) -> str:
    """What student code did instead of replying; all of it is escaped, since it is the student's text."""
    message = printable(fault.message, 600, newlines=True)
    place = fault.place
    if fault.outcome is Outcome.TIMEOUT and place is not None:
        line = f"{printable(place.file, 100)} line {place.line}: {printable(place.text, 200)}"
        return f"{message}\n  it was at {line}"
    if fault.outcome is not Outcome.EXCEPTION:
        return message
    lines = []
    if place is not None:
        where = f"{printable(place.file, 100)} line {place.line}"
        lines.append(f"{where} raised {printable(fault.kind, 80)}: {message}")
        if place.text:
            lines.append(f"    {printable(place.text, 200)}")
            if place.column is not None and 0 < place.column <= 200:
                lines.append(f"    {' ' * (place.column - 1)}^")
    elif fault.kind:
        lines.append(f"raised {printable(fault.kind, 80)}: {message}")
    else:  # nothing was run: the file could not be read
        lines.append(message)
    if "ModuleNotFoundError" in fault.bases:
        lines.append(text("checks", "missing_module"))
    return "\n".join(lines)


def _message(verdict: Verdict, words: str, *, again: bool, earlier: str) -> Iterator[str]:
    """What was called and what came back; the mistake's name where there is evidence; a question; where to read.

    A test's own question is asked only where no `earlier` test saw wrong values: they would fail this one too.
    """
    yield words
    cause = cause_of(verdict)
    if cause is not None and again:
        yield text("messages", "again", id=cause.id)
    elif cause is not None:
        entry = mistake(cause.id)
        yield text("messages", "named", id=cause.id, title=entry["title"], evidence=cause.message)
        yield text("messages", "question", question=entry["question"])
        yield text("messages", "section", section=entry["section"])
    elif verdict.outcome not in NOT_DIAGNOSED:
        question = question_of(verdict.test.rpartition("::")[2])
        if earlier:
            yield text("messages", "earlier", test=earlier)
        elif question and verdict.outcome not in SAME_FAULT:
            yield text("messages", "question", question=question)
        yield text("messages", "section", section=EXERCISES[verdict.exercise].section)


def cause_of(verdict: Verdict) -> NamedMistake | None:
    """The named mistake that this test's failure comes from: one that the test catches, or one that explains all."""
    for named in verdict.mistakes:
        if named.id in verdict.catches or (named.evidence == "output" and named.share == 1.0):
            return named
    return None
