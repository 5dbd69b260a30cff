"""What has been seen before: submissions that answer alike get their verdicts without running the tests again.

A graded test is a function of its inputs, which are the same for a whole round, and of the replies to its calls. So an
exercise's tests are kept as a tree: what is asked next, what came back, what was concluded. A submission is walked down
that tree; where it answers as nobody has before, the tests run, on the replies that are already there and then on
those still to come, and the tree grows by that branch. Nothing is concluded from the text of a submission.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from nanolm.protocol import Call, Outcome, Reply, StudentFault
from nanolm.verdict import Verdict

if TYPE_CHECKING:
    from grader.wire import Frame

MAX_BYTES = 64 * 1024 * 1024
"""Of what one tree keeps; the calls of an exercise take one or two MB, a hostile class must not take the memory."""

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
class _Begin:
    """A test begins."""


@dataclass(frozen=True)
class _Ask:
    """A call is made."""

    frame: bytes


@dataclass(frozen=True)
class _Conclude:
    """A test has ended."""

    verdict: Verdict


_Event = _Begin | _Ask | _Conclude


@dataclass
class _Node:
    """A place in the tree: what happens there, if that is known, and where each answer to it leads."""

    event: _Event | None = None
    after: dict[bytes, _Node] = field(default_factory=dict)


_NO_ANSWER = b""
"""What leads on from an event that is no question."""


class Behaviours:
    """The tree of one exercise's tests, for one round's inputs."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.root = _Node()
        self._frames: dict[bytes, bytes] = {}
        self._bytes = 0

    def kept(self, event: _Event) -> _Event:
        """The event of a new place; a call's frame is the same object for every place in the tree that asks it."""
        self._bytes += PLACE_BYTES
        if isinstance(event, _Conclude):
            self._bytes += len(event.verdict.message) + sum(map(len, event.verdict.notes))
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
    """An event of the present submission, and the answer to it where it was a question."""

    event: _Event
    answer: Frame | StudentFault | None = None


class Walk:
    """One submission's way through the tests of one exercise: down the tree first, then by running them.

    To the tests it is a backend. What the tree has gone through already is answered from what came back then.
    """

    def __init__(self, tree: Behaviours, inner: AskedBackend) -> None:
        self.name = inner.name
        self._tree = tree
        self._inner = inner
        self._node = tree.root
        self._steps: list[_Step] = []
        self._repeated = 0  # steps that the running tests have come past

    def down(self, conclude: Callable[[Verdict], None]) -> bool:
        """Follow the tree as far as it leads; False where the tests must run to know more."""
        began = time.monotonic()
        while (event := self._node.event) is not None:
            answer: Frame | StudentFault | None = None
            if isinstance(event, _Begin):
                began = time.monotonic()
                self._inner.start_test()
            elif isinstance(event, _Conclude):
                conclude(replace(event.verdict, seconds=time.monotonic() - began))
            else:
                answer = self._answer(event.frame)
            self._steps.append(_Step(event, answer))
            following = None if isinstance(answer, StudentFault) else self._node.after.get(_digest(answer))
            if following is None:
                return isinstance(event, _Conclude) and not self._node.after
            self._node = following
        return False

    def _answer(self, frame: bytes) -> Frame | StudentFault:
        try:
            return self._inner.ask(frame)
        except StudentFault as fault:
            return fault

    # --- as a backend of tests that run ------------------------------------------------------------------------------

    def start_test(self, cpu_seconds: float = math.inf) -> None:
        """A test begins."""
        if self._again(_Begin()) is None:
            self._inner.start_test(cpu_seconds)
            self._steps.append(_Step(_Begin()))

    def run(self, call: Call) -> Reply:
        """Carry out one call, or answer it from what came back before."""
        from grader.wire import encode_call  # which a session without workers need not have

        event = _Ask(encode_call(call, 0))
        step = self._again(event)
        if step is None:
            step = _Step(event, self._answer(event.frame))
            self._steps.append(step)
        if isinstance(step.answer, StudentFault):
            raise step.answer
        assert step.answer is not None
        return self._inner.read(step.answer, call)

    def concludes(self, verdict: Verdict) -> bool:
        """A test has ended; whether that is news, not what the tree has said already."""
        if self._again(_Conclude(verdict)) is not None:
            return False
        self._steps.append(_Step(_Conclude(verdict)))
        return True

    def end(self) -> None:
        """No more calls."""
        self._inner.end()

    def _again(self, event: _Event) -> _Step | None:
        """The step of the tree that this is, None once the tests are beyond them.

        Raises RuntimeError where a test did something else on the same replies: it is no function of them then.
        """
        if self._repeated == len(self._steps):
            self._repeated += 1
            return None
        step = self._steps[self._repeated]
        self._repeated += 1
        if _plain(step.event) != _plain(event):
            self._tree.clear()
            raise RuntimeError("a test asked or concluded something else on the same replies")
        return step

    def learn(self) -> None:
        """Add the way that the tests have taken to the tree: up to the first answer that the grader gave itself."""
        if any(_is_ours(step.event) for step in self._steps):
            return
        if self._tree.is_full:
            self._tree.clear()
        node = self._tree.root
        for step in self._steps:
            if node.event is None:
                node.event = self._tree.kept(step.event)
            if isinstance(step.answer, StudentFault):
                return
            if step is not self._steps[-1]:
                node = node.after.setdefault(_digest(step.answer), _Node())


def _is_ours(event: _Event) -> bool:
    """Whether a conclusion tells of our own trouble, which another submission need not share."""
    return isinstance(event, _Conclude) and event.verdict.outcome is Outcome.INFRASTRUCTURE


def _digest(answer: Frame | None) -> bytes:
    if answer is None:
        return _NO_ANSWER
    digest = hashlib.blake2b(bytes([answer.kind]) + len(answer.json).to_bytes(8, "big") + answer.json, digest_size=20)
    digest.update(answer.arrays)
    return digest.digest()


def _plain(event: _Event) -> _Event:
    """An event without what the clock says of it."""
    return _Conclude(replace(event.verdict, seconds=0.0)) if isinstance(event, _Conclude) else event
