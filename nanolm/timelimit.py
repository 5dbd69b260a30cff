"""The time limit of a local test: an endless loop ends as that test's `timeout`, and the run goes on.

Signals do it where they exist (they also end a sleep); elsewhere an exception is raised into the thread. Both work
without fork, resource or fcntl. Code that neither can reach (one very long C call) is ended with the process, with a
message that names the test, after `HARD_FACTOR` times the limit.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType

VARIABLE = "NANOLM_TEST_SECONDS"
LIMIT_SECONDS = 5.0
REPEAT_SECONDS = 0.25
HARD_FACTOR = 4


def limit_seconds(environment: Mapping[str, str] = os.environ) -> float:
    """The limit of a test: NANOLM_TEST_SECONDS where it is set, 0 for none; raises ValueError."""
    asked = environment.get(VARIABLE, "")
    try:
        seconds = float(asked or LIMIT_SECONDS)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e6:
        raise ValueError(f"{VARIABLE}={asked[:40]!r}: give a number of seconds, or 0 for no limit")
    return seconds


_terminal = 2


def remember_terminal() -> None:
    """Keep a way to the terminal for last words: pytest points file descriptor 2 elsewhere while a test runs."""
    global _terminal
    with suppress(OSError):
        _terminal = os.dup(2)


@contextmanager
def time_limit(seconds: float, test: str) -> Iterator[None]:
    """Raise TimeLimitReached in this thread when the block runs longer, again and again until it leaves the block."""
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        with _hard_limit(seconds * HARD_FACTOR, test), _by_signal(seconds):
            yield
    else:
        with _hard_limit(seconds * HARD_FACTOR, test), _by_exception(seconds):
            yield


_stop_ringing: Callable[[], object] = bool
"""What ends the repeats of the limit that runs, if one does."""


def landed() -> None:
    """The exception has come out of the student's code: what is said about it now must not be cut short by another."""
    _stop_ringing()


@contextmanager
def _stopped_by(stop: Callable[[], object]) -> Iterator[None]:
    global _stop_ringing
    before, _stop_ringing = _stop_ringing, stop
    try:
        yield
    finally:
        _stop_ringing = before


def _reached(seconds: float) -> BaseException:
    from nanolm.execution import TimeLimitReached

    return TimeLimitReached(f"stopped after {seconds:g} s: is there a loop that never ends?")


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    def ring(signum: int, frame: FrameType | None) -> None:
        raise _reached(seconds)

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, REPEAT_SECONDS)
    try:
        with _stopped_by(partial(signal.setitimer, signal.ITIMER_REAL, 0)):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _by_exception(seconds: float) -> Iterator[None]:
    from nanolm.execution import TimeLimitReached

    thread = threading.get_ident()
    done = threading.Event()
    lock = threading.Lock()

    def ring() -> None:
        wait = seconds
        while not done.wait(wait):
            with lock:
                if not done.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(thread), ctypes.py_object(TimeLimitReached)
                    )
            wait = REPEAT_SECONDS

    watchdog = threading.Thread(target=ring, daemon=True, name="nanolm-time-limit")
    watchdog.start()
    try:
        with _stopped_by(done.set):
            yield
    finally:
        with lock:
            done.set()
        watchdog.join()


@contextmanager
def _hard_limit(seconds: float, test: str) -> Iterator[None]:
    def end() -> None:
        words = (
            f"\n{test} still ran after {seconds:g} s and could not be stopped: the run ends here.\n"
            "Run it alone with -x to find the call that does not return.\n"
        )
        with suppress(OSError):
            os.write(_terminal, words.encode())
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
