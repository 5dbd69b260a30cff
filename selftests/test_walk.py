"""One submission's way through one test: down the tree, beyond it, and what is added to it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from grader import behaviours
from grader.behaviours import Behaviours, Conclusion, Walk
from grader.wire import Frame, Kind, WireError, encode_call
from nanolm.execution import Executor
from nanolm.implementation import Implementation, TestCut
from nanolm.protocol import Call, Outcome, Reply, StudentFault
from nanolm.sources import TextSource
from nanolm.verdict import Learned, NamedMistake, Verdict
from selftests.test_behaviours import Asked, FakeWorker, fault
from selftests.test_session import job, own_pytest_inside_this_one

__all__ = ["own_pytest_inside_this_one"]

ONE = Call("rms_norm", {"x": torch.ones(2, 3), "gamma": torch.ones(3)}, {"d_model": 3, "eps": 1e-6})
OTHER = Call("rms_norm", {"x": torch.zeros(2, 3), "gamma": torch.ones(3)}, {"d_model": 3, "eps": 1e-6})
PASSED = Verdict("a test", "rmsnorm", Outcome.PASSED, 1.0, 1.0)
FAILED = replace(PASSED, outcome=Outcome.WRONG_VALUE, score=0.0)
NOTHING = Learned()
MORE = Learned((NamedMistake("rmsnorm-centering", "output", "numbers"),), "a test")


def a_walk(tree: Behaviours, learned: Learned = NOTHING, *notes: str, inner: FakeWorker | None = None) -> Walk:
    return Walk(tree, "a test", inner or Asked().make(job("any").texts), learned, notes)


def walked(tree: Behaviours, *calls: Call) -> None:
    """A test that makes these calls and passes."""
    walk = a_walk(tree)
    assert walk.down() is None
    for call in calls:
        walk.run(call)
    walk.learn(PASSED, NOTHING, ())


def test_a_test_that_asks_something_else_on_the_same_replies_is_found_out() -> None:
    tree = Behaviours()
    walked(tree, ONE)
    walk = a_walk(tree)
    assert walk.down() == Conclusion(PASSED, None, ())
    with pytest.raises(TestCut, match="something else") as cut:  # which no hypothesis repeats, and no test catches
        Implementation(walk).call(OTHER.entry, OTHER.tensors, OTHER.scalars)
    assert cut.value.fault.outcome is Outcome.INFRASTRUCTURE
    assert a_walk(tree).down() is None


def test_a_test_that_ends_before_it_has_asked_what_it_asked_before_is_found_out() -> None:
    tree = Behaviours()
    walked(tree, ONE)
    walk = a_walk(tree)
    assert walk.down() is not None
    with pytest.raises(RuntimeError, match="before it had asked"):
        walk.learn(PASSED, NOTHING, ())
    assert a_walk(tree).down() is None


def failed_after(tree: Behaviours, learned: Learned, after: Learned) -> Conclusion:
    """A test that fails, so that its verdict depends on what earlier ones have shown; what it concluded."""
    walk = a_walk(tree, learned)
    assert walk.down() is None
    walk.run(ONE)
    walk.recalls()
    end = Conclusion(replace(FAILED, message=f"after {learned}"), after, ("a note",))
    walk.learn(end.verdict, after, end.notes)
    return end


def test_a_verdict_that_asks_what_is_known_so_far_holds_where_that_is_the_same() -> None:
    tree = Behaviours()
    first = failed_after(tree, NOTHING, MORE)
    second = failed_after(tree, MORE, MORE)
    assert a_walk(tree, NOTHING).down() == first
    assert a_walk(tree, MORE).down() == second
    assert a_walk(tree, replace(MORE, first_wrong="another test")).down() is None


def test_a_verdict_that_asks_for_nothing_holds_whatever_is_known() -> None:
    tree = Behaviours()
    walked(tree, ONE)
    assert a_walk(tree, MORE).down() == Conclusion(PASSED, None, ())  # and it stays known


def test_a_verdict_holds_where_the_same_was_noted_before() -> None:
    tree = Behaviours()
    walked(tree, ONE)
    assert a_walk(tree, NOTHING, "a note").down() is None
    assert list(tree._roots) == [("a test",)]  # who only looks takes no memory


@pytest.mark.parametrize("outcome", [Outcome.FORBIDDEN, Outcome.TIMEOUT, Outcome.CRASHED])
def test_an_answer_that_cuts_a_test_is_nothing_to_learn_from(outcome: Outcome) -> None:
    class Cut(FakeWorker):
        def ask(self, frame: bytes) -> Frame:
            return fault(Frame(Kind.FAULT, 1, b"", b""), Outcome.FORBIDDEN)

        def read(self, frame: Frame, call: Call) -> Reply:
            raise StudentFault(outcome, "so it ends")

    tree = Behaviours()
    walk = a_walk(tree, inner=Cut(Asked(asked=[0]), Executor(TextSource({}))))
    assert walk.down() is None
    with pytest.raises(StudentFault):
        walk.run(ONE)
    walk.learn(FAILED, NOTHING, ())
    assert walk.disturbed
    assert a_walk(tree).down() is None
    assert tree._bytes == 0


def test_an_answer_that_cannot_be_read_is_read_again_when_the_tests_run() -> None:
    tree = Behaviours()
    walked(tree, ONE)

    class Liar(FakeWorker):
        def read(self, frame: Frame, call: Call) -> Reply:
            raise WireError("not a reply")

        def ask(self, frame: bytes) -> Frame:
            return Frame(Kind.REPLY, 1, b"{", b"")

    walk = a_walk(tree, inner=Liar(Asked(asked=[0]), Executor(TextSource({}))))
    assert walk.down() is None
    with pytest.raises(WireError):
        walk.run(ONE)


def test_a_way_that_is_known_takes_no_memory_again_and_its_new_end_does() -> None:
    tree = Behaviours()
    walked(tree, ONE)
    sizes = [tree._bytes]
    assert sizes[0] > len(encode_call(ONE, 0))
    words = "w" * 500

    class Other(FakeWorker):
        def ask(self, frame: bytes) -> Frame:
            return Frame(Kind.FAULT, 1, b'{"n": %d}' % len(sizes), b"")

        def read(self, frame: Frame, call: Call) -> Reply:
            raise StudentFault(Outcome.EXCEPTION, "something")

    for _ in range(20):
        walk = a_walk(tree, inner=Other(Asked(asked=[0]), Executor(TextSource({}))))
        assert walk.down() is None
        with pytest.raises(StudentFault):
            walk.run(ONE)
        walk.learn(replace(PASSED, outcome=Outcome.EXCEPTION, score=0.0, message=words), NOTHING, ())
        sizes.append(tree._bytes)
    grown = {after - before for before, after in pairwise(sizes)}
    assert grown == {behaviours.PLACE_BYTES + len(words)}
