"""The terminal's table and messages: what is told of a failing exercise, once, and what is not told at all."""

from __future__ import annotations

from dataclasses import replace

from grader.results import SubmissionResult
from grader.table import grade_table, messages
from nanolm.protocol import Outcome
from nanolm.verdict import Verdict

PASSED = Verdict("tests/t.py::test_one", "rmsnorm", Outcome.PASSED, 1.0, 1.0)
WRONG = replace(PASSED, test="tests/t.py::test_two", outcome=Outcome.WRONG_VALUE, score=0.0, message="It is wrong.")
ELSEWHERE = replace(PASSED, test="tests/t.py::test_gpu", outcome=Outcome.NOT_RUN_HERE, score=0.0, message="no GPU")
BROKEN = replace(PASSED, outcome=Outcome.EXCEPTION, score=0.0, message="line 3 raised\n    x = = 1")


def told(*verdicts: Verdict) -> str:
    return "\n".join(text.plain for text in messages([SubmissionResult("anna", verdicts, 3.0)]))


def test_the_same_words_are_told_once() -> None:
    again = replace(BROKEN, test="tests/t.py::test_three")
    text = told(BROKEN, WRONG, again)
    assert text.count("x = = 1") == 1
    assert "tests/t.py::test_three: exception\n  as in tests/t.py::test_one" in text
    assert "tests/t.py::test_two: wrong value\n  It is wrong." in text


def test_what_passed_or_was_not_run_says_nothing() -> None:
    assert told(PASSED, ELSEWHERE) == "\nanna: 1.0 / 3"


def test_a_test_that_was_not_run_is_no_cause() -> None:
    table = grade_table([SubmissionResult("anna", (PASSED, ELSEWHERE, WRONG), 3.0)])
    causes = [str(cell) for cell in table.columns[-1]._cells]
    assert causes == ["rmsnorm: wrong value"]
