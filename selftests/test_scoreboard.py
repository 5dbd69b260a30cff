"""The scoreboard: every failure stands below one cause; a cause without a failure of its own says where it is seen."""

from __future__ import annotations

from nanolm.protocol import Outcome
from nanolm.scoreboard import lines
from nanolm.verdict import NamedMistake, Verdict

CENTERING = NamedMistake("rmsnorm-centering", "output", "", 0.5)
GAMMA = NamedMistake("rmsnorm-gamma-twice", "output", "", 0.25)


def failed(name: str, catches: tuple[str, ...], *mistakes: NamedMistake) -> Verdict:
    return Verdict(f"t.py::{name}", "rmsnorm", Outcome.WRONG_VALUE, 0.0, 1.0, mistakes=mistakes, catches=catches)


def shown(*verdicts: Verdict) -> list[str]:
    return [text for text, _ in lines(list(verdicts), {})]


def test_a_failure_stands_below_the_cause_that_it_speaks_for() -> None:
    board = shown(failed("test_a", ("rmsnorm-centering",), CENTERING), failed("test_b", ()))
    assert "    mistake: rmsnorm-centering (subtracts the mean), explains 1 of 2 failed tests:" in board
    assert board.index("      test_a") < board.index("      test_b")
    assert any("something else is wrong too, 1 of 2" in line for line in board)


def test_a_cause_without_a_failure_of_its_own_says_where_it_is_seen() -> None:
    board = shown(failed("test_a", ("rmsnorm-centering",), CENTERING, GAMMA))
    assert (
        "    mistake: rmsnorm-gamma-twice (applies gamma twice), seen in what your code gives on other inputs" in board
    )
    assert not any("explains 0" in line for line in board)
