"""The grader's side of a call: runs it in a worker and turns whatever happens there into an outcome."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Mapping
from contextlib import suppress

from grader.connection import ConnectionEnded
from grader.wire import Frame, Kind, WireError, decode_fault, decode_reply, encode_call, encode_load, numbered
from grader.workers import InfrastructureError, Limits, WorkerHandle, Zygote
from nanolm.protocol import Call, Outcome, Reply, StudentFault

__all__ = ["InfrastructureError", "Limits", "WorkerBackend", "WorkerHandle", "Zygote"]

READY_SECONDS = 10.0
TICK_SECONDS = 0.05
FAREWELL_SECONDS = 0.25


class WorkerBackend:
    """Runs calls on one submission in a worker: forked on the first call, and afresh after a death or a time-out."""

    name = "worker"

    def __init__(self, zygote: Zygote, texts: Mapping[str, str], limits: Limits | None = None) -> None:
        self.zygote = zygote
        self.limits = limits or Limits()
        self.output = ""
        self._load = encode_load(texts)
        self._worker: WorkerHandle | None = None
        self._sequence = 0
        self._wall_spent = 0.0
        self._wall_checked = 0.0  # up to here the CPU time has been looked at too
        self._cpu_allowed = self.limits.cpu_seconds
        self._cpu_spent = 0.0  # by workers of this test that have ended
        self._cpu_before = 0.0  # what the present worker had used before this test, or a tick earlier
        self._wall_unwatched = 0.0  # spent in tests since the worker's CPU time was last asked for

    def start_test(self, cpu_seconds: float = math.inf) -> None:
        """Give the next test its full time, or so much if that is less; a worker that has died meanwhile is replaced.

        Its CPU time is asked for only after tests that took time: one more tick of a test's two seconds is no matter.
        """
        self._cpu_allowed = min(self.limits.cpu_seconds, cpu_seconds)
        self._wall_unwatched += self._wall_spent
        self._wall_spent = self._wall_checked = self._cpu_spent = 0.0
        if self._worker is None:  # the next one brings its own
            return
        if self._wall_unwatched < TICK_SECONDS and not self._worker.connection.ended:
            return
        self._wall_unwatched = 0.0
        try:
            used = self.zygote.usage(self._worker)
            self._cpu_before = used.cpu_seconds
            if not used.alive:
                self.end()
        except InfrastructureError:
            self.end()

    def end(self) -> None:
        """End the present worker, if there is one, and keep the last of what it printed in `output`."""
        with suppress(InfrastructureError):
            self._end()

    def run(self, call: Call) -> Reply:
        """Carry out one call in the worker; raises StudentFault.

        A call that cannot be encoded is a mistake of the test: CannotEncode, before anything is sent.
        """
        return self.read(self.ask(encode_call(call, 0)), call)

    def ask(self, frame: bytes) -> Frame:
        """Send a call's frame to the worker and wait for its answer, which nobody has looked into yet.

        Raises StudentFault where there is none: a time-out, a death, trouble of ours.
        """
        self._sequence += 1
        try:
            worker = self._worker or self._fork()
            if self._wall_spent - self._wall_checked >= TICK_SECONDS:
                self._check_time(worker)
            answer = self._exchange(worker, numbered(frame, self._sequence))
            if answer.sequence != self._sequence:
                raise WireError("an answer to another call")
            return answer
        except ConnectionEnded:
            fault = self._death()
        except WireError as error:
            fault = self._unreadable(error)
        except (InfrastructureError, OSError) as error:
            self.end()
            fault = StudentFault(Outcome.INFRASTRUCTURE, str(error))
        except BaseException:
            self.end()  # interrupted in the middle of a call: the worker's next words would answer this one
            raise
        raise fault

    def read(self, answer: Frame, call: Call) -> Reply:
        """The reply in a worker's answer; raises StudentFault: the one in it, or for an answer that is none."""
        try:
            if answer.kind != Kind.FAULT:
                return decode_reply(answer, call)
            fault = decode_fault(answer)
        except WireError as error:
            fault = self._unreadable(error)
        raise fault

    def _unreadable(self, error: WireError) -> StudentFault:
        self.end()
        return StudentFault(Outcome.CRASHED, f"its reply could not be read: {error}")

    def _fork(self) -> WorkerHandle:
        """A worker that holds the texts. No student code has run in it yet, so that any trouble is the grader's."""
        if (fault := self._overrun(self._cpu_spent)) is not None:
            raise fault  # an earlier worker of this test has spent its time
        self._worker = worker = self.zygote.fork(self.limits)
        try:
            worker.connection.begin(self._load)
            frame = worker.connection.wait(READY_SECONDS)
        except (ConnectionEnded, WireError) as error:
            self.end()
            raise InfrastructureError(f"a worker did not get ready: {error} {self.output[-2000:]}".rstrip()) from error
        if frame is None or frame.kind != Kind.READY:
            raise InfrastructureError("a worker did not get ready in time")
        self._cpu_before = self.zygote.usage(worker).cpu_seconds
        return worker

    def _exchange(self, worker: WorkerHandle, data: bytes) -> Frame:
        """Send a call and wait for its answer, looking at the worker's time now and then."""
        worker.connection.begin(data)
        while True:
            started = time.monotonic()
            remaining = self.limits.wall_seconds - self._wall_spent
            try:
                frame = worker.connection.wait(min(TICK_SECONDS, max(remaining, 0.0)))
            finally:
                self._wall_spent += time.monotonic() - started
            if frame is not None:
                return frame
            self._check_time(worker)

    def _check_time(self, worker: WorkerHandle) -> None:
        """End the worker and raise the fault when the test has used up its time."""
        self._wall_checked = self._wall_spent
        used = self.zygote.usage(worker)
        if not used.alive:
            raise ConnectionEnded
        fault = self._overrun(self._cpu_spent + used.cpu_seconds - self._cpu_before)
        if fault is not None:
            self.end()
            raise fault

    def _overrun(self, cpu: float) -> StudentFault | None:
        """The fault of a test that has used up its time, given the CPU seconds of all its workers."""
        if cpu >= self._cpu_allowed:
            used_up = " and this exercise had used up its own" if self._cpu_allowed < self.limits.cpu_seconds else ""
            return StudentFault(
                Outcome.TIMEOUT,
                f"stopped after {cpu:.1f} s of computing; a test may use {self.limits.cpu_seconds:g} s{used_up}. "
                "Look for a loop that never ends, or for work that grows much faster than its input.",
            )
        if self._wall_spent >= self.limits.wall_seconds:
            return StudentFault(
                Outcome.TIMEOUT,
                f"stopped after {self._wall_spent:.1f} s without an answer, {cpu:.1f} s of them computing. "
                "Look for something that waits: input(), sleep, a lock, a thread that is joined.",
            )
        return None

    def _death(self) -> StudentFault:
        """End a worker whose connection is gone and say how it went."""
        try:
            alive = False
            deadline = time.monotonic() + FAREWELL_SECONDS
            while self._worker and (alive := self.zygote.usage(self._worker).alive) and time.monotonic() < deadline:
                time.sleep(0.005)
            code = self._end()
        except InfrastructureError as error:
            self.end()
            return StudentFault(Outcome.INFRASTRUCTURE, str(error))
        if alive:
            return StudentFault(Outcome.CRASHED, "the process closed its connection to the grader")
        return death_fault(code)

    def _end(self) -> int:
        worker, self._worker = self._worker, None
        if worker is None:
            return 0
        try:
            with suppress(InfrastructureError):
                self._cpu_spent += max(0.0, self.zygote.usage(worker).cpu_seconds - self._cpu_before)
            return self.zygote.end(worker)
        finally:
            self.output = worker.connection.output


def death_fault(code: int) -> StudentFault:
    """The fault of a process that ended by itself, from its exit code or minus its signal's number."""
    if code == -signal.SIGXCPU:
        return StudentFault(Outcome.TIMEOUT, "the process used up all the CPU time that it may have")
    if code >= 0:
        return StudentFault(Outcome.CRASHED, f"the process ended with exit status {code}")
    name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
    return StudentFault(Outcome.CRASHED, f"the process ended with signal {-code} ({name})")
