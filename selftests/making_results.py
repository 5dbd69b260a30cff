"""Builds graded submissions for the self-tests of reports, without grading anything."""

from __future__ import annotations

from collections.abc import Sequence

from grader.reports.location import SourceFile, Sources
from grader.results import SubmissionResult
from nanolm.course import EXERCISES
from nanolm.protocol import Outcome
from nanolm.verdict import NamedMistake, Verdict

NAMED = NamedMistake("rmsnorm-centering", "output", "your results equal this mistake's on every input that was tried")
TEXT = "import torch\n\n\nclass RMSNorm:\n    pass\n\n\nclass SwiGLU:\n    pass\n"
SOURCES: Sources = {"modules.py": SourceFile("exercises/modules.py", TEXT)}


def verdict(
    test: str,
    exercise: str = "rmsnorm",
    outcome: Outcome = Outcome.WRONG_VALUE,
    message: str = "RMSNorm(4)([2, -1, 3, 0]) is wrong",
    *,
    named: bool = False,
    points: float = 2.0,
    notes: tuple[str, ...] = (),
) -> Verdict:
    return Verdict(
        f"tests/test_{EXERCISES[exercise].file.removesuffix('.py')}.py::{test}",
        exercise,
        outcome,
        points if outcome is Outcome.PASSED else 0.0,
        points,
        message if outcome is not Outcome.PASSED else "",
        mistakes=(NAMED,) if named else (),
        notes=notes,
        seconds=0.01,
    )


def result(verdicts: Sequence[Verdict], **more: object) -> SubmissionResult:
    full = sum(each.max_score for each in verdicts)
    return SubmissionResult("anna", tuple(verdicts), full, **more)  # type: ignore[arg-type]


def hostile(texts: Sequence[str]) -> SubmissionResult:
    """A submission whose every student-made text is one of `texts`."""
    verdicts = [
        verdict(f"test_rmsnorm_{number}", outcome=Outcome.EXCEPTION, message=text, notes=(text,))
        for number, text in enumerate(texts)
    ]
    return result([*verdicts, verdict("test_swiglu_gate", "swiglu", Outcome.PASSED)], notes=tuple(texts))
