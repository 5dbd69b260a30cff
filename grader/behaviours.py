"""What has been seen before: submissions that answer alike get their verdicts without running the tests again.

A graded test's verdict is a function of its inputs, which are the same for a whole round, of the replies to its calls,
and of what its exercise's earlier tests have shown, where its words depend on that. So each test is kept as a tree:
what is asked next, what came back, what was concluded. A submission is walked down that tree; where it answers as
nobody has before, the test runs, on the replies that are already there and then on those still to come, and the tree
grows by that branch. Nothing is concluded from the text of a submission.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from nanolm.protocol import CUTS_THE_TEST, Call, Outcome, Reply, StudentFault
from nanolm.verdict import Learned, Verdict

if TYPE_CHECKING:
    from grader.wire import Frame

MAX_BYTES = 64 * 1024 * 1024
"""Of what one exercise's trees keep; its calls take one or two MB, and a hostile class must not take the memory."""

PLACE_BYTES = 1000
"""About what a place in the tree takes without its call's frame and its verdict's words."""


@runtime_checkable
class AskedBackend(Protocol):
    """A backend whose calls and replies can be had as the frames that they travel in."""

    name: str

    def start_test(self, cpu_seconds: float = math.inf) -> None:
        """A new test begins: it has its full time, or so much if that is less."""

    def ask(self, frame: bytes) -> Frame:
        """Send a call's frame; raises StudentFault where the grader itself decides how it ended."""
        ...

    def read(self, frame: Frame, call: Call) -> Reply:
        """The reply in a frame; raises StudentFault, the submission's own too."""
        ...

    def end(self) -> None:
        """No more calls."""


@dataclass(frozen=True)
class Conclusion:
    """A test has ended: its verdict, and what its exercise's later tests need to know. Nothing leads on from here."""

    verdict: Verdict
    learned: Learned | None
    """None for a test that asked for nothing of the kind: it leaves what is known as it was."""
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Ask:
    """A call is made; the reply's digest answers it."""

    frame: bytes


@dataclass(frozen=True)
class _Recall:
    """What earlier tests have shown is asked for; a `Learned` answers it."""


_Event = _Ask | _Recall | Conclusion


@dataclass
class _Node:
    """A place in the tree: what happens there, if that is known, and where each answer to it leads."""

    event: _Event | None = None
    after: dict[Hashable, _Node] = field(default_factory=dict)


class Behaviours:
    """The trees of one exercise's tests, for one round's inputs."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._roots: dict[Hashable, _Node] = {}
        self._frames: dict[bytes, bytes] = {}
        self._bytes = 0

    def root(self, place: Hashable) -> _Node | None:
        """Where a test begins, if anything is known of it."""
        return self._roots.get(place)

    def made_root(self, place: Hashable) -> _Node:
        """Where a test begins, from now on."""
        if place not in self._roots:
            self._bytes += PLACE_BYTES
            self._roots[place] = _Node()
        return self._roots[place]

    def kept(self, event: _Event) -> _Event:
        """The event of a new place; a call's frame is the same object for every place that asks it."""
        self._bytes += PLACE_BYTES
        if isinstance(event, Conclusion):
            self._bytes += len(event.verdict.message) + sum(map(len, event.notes))
        if not isinstance(event, _Ask):
            return event
        known = self._frames.setdefault(event.frame, event.frame)
        if known is event.frame:
            self._bytes += len(known)
        return _Ask(known)

    @property
    def is_full(self) -> bool:
        """Whether it is time to begin anew."""
        return self._bytes > MAX_BYTES


@dataclass(frozen=True)
class _Step:
    """A question of the present test and the answer to it."""

    event: _Ask | _Recall
    answer: Frame | StudentFault | Learned


class Walk:
    """One submission's way through one test: down the tree first, then by running it.

    To the test it is a backend. What the tree has gone through already is answered from what came back then.
    """

    def __init__(
        self, tree: Behaviours, test: str, inner: AskedBackend, learned: Learned, notes: Sequence[str]
    ) -> None:
        self.name = inner.name
        self.disturbed = False
        """Whether a call ended in a way that cuts the test: what comes then depends on more than replies."""
        self._tree = tree
        self._place = (test, *notes)  # a verdict repeats the notes that there were before: they make another tree
        self._inner = inner
        self._learned = learned
        self._steps: list[_Step] = []
        self._repeated = 0  # steps that the running test has come past

    def down(self) -> Conclusion | None:
        """Follow the tree to its end; None where the test must run to know more."""
        node = self._tree.root(self._place)
        while node is not None and node.event is not None:
            if isinstance(node.event, Conclusion):
                return node.event
            step = self._new(node.event)
            node = None if isinstance(step.answer, StudentFault) else node.after.get(_key(step.answer))
        return None

    def _new(self, event: _Ask | _Recall) -> _Step:
        """Ask what nobody has asked this submission yet."""
        answer: Frame | StudentFault | Learned = self._learned
        if isinstance(event, _Ask):
            try:
                answer = self._inner.ask(event.frame)
            except StudentFault as fault:  # the grader itself decided how the call ended
                answer = fault
        step = _Step(event, answer)
        self._steps.append(step)
        return step

    def _step(self, event: _Ask | _Recall) -> _Step:
        """The step of the running test that this event is: one from the way down, or the next new one.

        Raises StudentFault, as trouble of ours, where the test did something else on the same replies: it is no
        function of them then. That ends the test, and no `except` in it, or hypothesis, takes it for a wrong value.
        """
        self._repeated += 1
        if self._repeated > len(self._steps):
            return self._new(event)
        step = self._steps[self._repeated - 1]
        if step.event != event:
            self._tree.clear()
            raise StudentFault(Outcome.INFRASTRUCTURE, "a test asked something else on the same replies")
        return step

    def run(self, call: Call) -> Reply:
        """Carry out one call, or answer it from what came back before."""
        from grader.wire import encode_call  # which a session without workers need not have

        answer = self._step(_Ask(encode_call(call, 0))).answer
        try:
            if isinstance(answer, StudentFault):
                raise answer
            assert not isinstance(answer, Learned)
            return self._inner.read(answer, call)
        except StudentFault as fault:
            self.disturbed |= fault.outcome in CUTS_THE_TEST
            raise

    def recalls(self) -> None:
        """The running test's verdict depends on what earlier tests have shown, and adds to it."""
        self._step(_Recall())

    def learn(self, verdict: Verdict, learned: Learned, notes: Sequence[str]) -> None:
        """Add the way that the test has taken to the tree, unless it was disturbed or failed for reasons of ours.

        `learned` and `notes` are as the test has left them.
        """
        if self.disturbed or verdict.outcome is Outcome.INFRASTRUCTURE:
            return
        if self._repeated < len(self._steps):
            self._tree.clear()
            raise RuntimeError("a test ended before it had asked what it asked on the same replies")
        if self._tree.is_full:
            self._tree.clear()
        recalled = any(isinstance(step.event, _Recall) for step in self._steps)
        conclusion = Conclusion(verdict, learned if recalled else None, tuple(notes))
        node = self._tree.made_root(self._place)
        for step in self._steps:
            node.event = node.event or self._tree.kept(step.event)
            node = node.after.setdefault(_key(step.answer), _Node())
        node.event = node.event or self._tree.kept(conclusion)


def _key(answer: Frame | StudentFault | Learned) -> Hashable:
    """What an answer is called in the tree."""
    assert not isinstance(answer, StudentFault)
    if isinstance(answer, Learned):
        return answer
    digest = hashlib.blake2b(bytes([answer.kind]) + len(answer.json).to_bytes(8, "big") + answer.json, digest_size=20)
    digest.update(answer.arrays)
    return digest.digest()
