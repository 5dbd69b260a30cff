"""Grades read back: from the JSON of `nanolm grade`, or from a ledger, into the `SubmissionResult`s they came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from grader.ledger import Circumstances, Ledger, LedgerError
from grader.results import SCHEMA, SubmissionResult
from grader.sandbox import Level
from nanolm.course import EXERCISES, GIVEN_FILES
from nanolm.protocol import Outcome
from nanolm.texts import catalogue
from nanolm.untrusted import listed, printable
from nanolm.verdict import NamedMistake, Verdict

MAX_BYTES = 512 * 1024 * 1024

Points = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
FAILING = frozenset(Outcome) - {Outcome.PASSED, Outcome.NOT_ATTEMPTED, Outcome.NOT_RUN_HERE}


class GradesError(ValueError):
    """The grades cannot be read; the text says where and what to do."""


class MistakeData(msgspec.Struct, frozen=True):
    """A named mistake; unknown keys are ignored, here and in all that follows, as the contract asks."""

    id: str
    evidence: Literal["output", "property"]
    message: str


class TestData(msgspec.Struct, frozen=True):
    """A test's outcome."""

    __test__ = False

    id: str
    outcome: Outcome
    score: Points
    max_score: Points
    message: str = ""


class ExerciseData(msgspec.Struct, frozen=True):
    """An exercise with its tests."""

    id: str
    score: Points
    max_score: Points
    mistakes: list[MistakeData]
    tests: list[TestData]
    notes: list[str] = []


class SubmissionData(msgspec.Struct, frozen=True):
    """One entry of `submissions`."""

    submission: str
    status: Literal["graded", "ungradable"]
    score: Points
    max_score: Points
    exercises: list[ExerciseData]
    seconds: Points = 0.0
    notes: list[str] = []
    reason: str = ""
    student: str = ""
    isolation: str = ""


class GradeData(msgspec.Struct, frozen=True):
    """The file."""

    schema: str
    submissions: list[SubmissionData]


def read_grades(path: Path) -> list[SubmissionResult]:
    """The results of a `nanolm.grade/1` file. Raises GradesError."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise GradesError(f"{path} is larger than grades can be")
        data = msgspec.json.decode(path.read_bytes(), type=GradeData)
    except OSError as error:
        raise GradesError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise GradesError(
            f"{path} holds no grades ({printable(str(error), 200)}): name the file that `nanolm grade --json` wrote"
        ) from error
    if data.schema != SCHEMA:
        raise GradesError(f"{path} is {printable(data.schema, 60)!r}, this version reads {SCHEMA!r}: grade again")
    names = Counter(entry.submission for entry in data.submissions)
    if twice := sorted(name for name, count in names.items() if count > 1):
        raise GradesError(f"{path} holds {listed(twice)} twice: grade again, do not join files by hand")
    return [_result(path, entry) for entry in data.submissions]


def _result(path: Path, entry: SubmissionData) -> SubmissionResult:
    shown = printable(entry.submission, 80)
    if entry.status == "ungradable":
        verdicts: tuple[Verdict, ...] = ()
        reason: str | None = entry.reason or "no reason was given"
    else:
        verdicts, reason = tuple(verdict for each in entry.exercises for verdict in _verdicts(path, shown, each)), None
    result = SubmissionResult(
        name=entry.submission, verdicts=verdicts, max_score=entry.max_score, seconds=entry.seconds,
        notes=tuple(entry.notes), ungradable=reason, student=entry.student, isolation=entry.isolation,
    )  # fmt: skip
    _same(path, shown, result.score, entry.score)
    if reason is None:
        _same(path, shown, sum(verdict.max_score for verdict in verdicts), entry.max_score)
    return result


def _verdicts(path: Path, shown: str, exercise: ExerciseData) -> list[Verdict]:
    """An exercise's verdicts. The file tells its mistakes once, so they are laid on the first test that failed."""
    if exercise.id not in EXERCISES:
        raise GradesError(
            f"{path}: {shown} has an exercise {printable(exercise.id, 40)!r}, which is none of this course"
        )
    _same(path, f"{shown}, {exercise.id}", sum(test.score for test in exercise.tests), exercise.score)
    _same(path, f"{shown}, {exercise.id}", sum(test.max_score for test in exercise.tests), exercise.max_score)
    verdicts = [
        Verdict(test.id, exercise.id, test.outcome, test.score, test.max_score, message=test.message)
        for test in exercise.tests
    ]
    if exercise.mistakes and verdicts:
        where = next((n for n, verdict in enumerate(verdicts) if verdict.outcome in FAILING), 0)
        # Their order is the file's: the likeliest first.
        named = tuple(
            NamedMistake(each.id, each.evidence, _bare(each), share=1.0 - place / 1000)
            for place, each in enumerate(exercise.mistakes)
        )
        verdicts[where] = replace(verdicts[where], mistakes=named)
    if exercise.notes and verdicts:
        verdicts[0] = replace(verdicts[0], notes=tuple(exercise.notes))
    return verdicts


def _bare(data: MistakeData) -> str:
    """The mistake's own message, without the title and the question that `grader.results` put round it."""
    entry = catalogue()["mistakes"].get(data.id)
    if entry is None:
        raise GradesError(f"there is no mistake {printable(data.id, 60)!r} in this version: grade again")
    before, after = f"{entry['title']}: ", f". {entry['question']}"
    if data.message.startswith(before) and data.message.endswith(after):
        return data.message[len(before) : -len(after)]
    return data.message


def _same(path: Path, shown: str, summed: float, told: float) -> None:
    if abs(summed - told) > 1e-6:
        raise GradesError(
            f"{path}: the points of {shown} do not add up ({summed:g} in its tests, {told:g} in its sum). Whoever "
            "changes a grade by hand does it in the gradebook, where it can be seen: take the file as it was written"
        )


# ── The ledger ───────────────────────────────────────────────────────────────────────────────────────────────────────


def read_ledger(path: Path, round_name: str, exercises: Sequence[str] = tuple(EXERCISES)) -> list[SubmissionResult]:
    """The newest version of everything that was handed in for a round, under the tests it was graded with last.

    What that run has not finished is ungradable here with the reason, never a lower score. Raises LedgerError.
    """
    if not path.is_file():
        raise LedgerError(f"there is no ledger at {path}")
    with Ledger(path) as ledger:
        at = _newest_circumstances(ledger, path, round_name)
        return [_kept(ledger, name, at, exercises) for name in ledger.names(at.round)]


def _kept(ledger: Ledger, name: str, at: Circumstances, exercises: Sequence[str]) -> SubmissionResult:
    digest = ledger.newest(name, at.round)
    texts, problems = ledger.read(digest) or ({}, {})
    known = ledger.known(digest, at, Level.WEAK)
    order = [entry.verdict.test for entry in ledger.entries(digest) if entry.circumstances == at]
    verdicts = [known.verdicts[test] for test in dict.fromkeys(order) if known.verdicts[test].exercise in exercises]
    full = sum(EXERCISES[each].points for each in exercises)
    reason = None
    if not texts.keys() - set(GIVEN_FILES):
        reason = " ".join(problems.values()) or "nothing of it could be read"
    elif unfinished := [each for each in exercises if not _complete(each, verdicts)]:
        reason = (
            f"The ledger has not all verdicts for {listed(unfinished)}: run the `nanolm grade` of that round again, it "
            "goes on where it stopped. Where the round has fewer exercises, name them with --exercise."
        )
    if reason is not None:
        return SubmissionResult(name, (), full, ungradable=reason)
    seconds = sum(verdict.seconds for verdict in verdicts)
    return SubmissionResult(name, tuple(verdicts), full, seconds=seconds, isolation=known.isolation.value)


def _complete(exercise: str, verdicts: Sequence[Verdict]) -> bool:
    """Whether every point of an exercise has a verdict."""
    return sum(each.max_score for each in verdicts if each.exercise == exercise) == EXERCISES[exercise].points


def _newest_circumstances(ledger: Ledger, path: Path, round_name: str) -> Circumstances:
    rounds = ledger.rounds()
    fitting = [known for known in rounds if known.rpartition(":")[0] == round_name]
    if not fitting:
        names = listed(sorted({known.rpartition(":")[0] for known in rounds}))
        raise LedgerError(f"{path} has no round {round_name!r}: name one of these with --round: {names}")
    if len(fitting) > 1:
        raise LedgerError(
            f"{path} has {len(fitting)} rounds {round_name!r}, under different secrets: write the JSON with "
            "`nanolm grade` under the right NANOLM_SECRET and report from that"
        )
    at = ledger.latest(fitting[0])
    if at is None:
        raise LedgerError(f"{path} has no verdict of round {round_name!r} yet: run `nanolm grade` with this ledger")
    return at
