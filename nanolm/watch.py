"""`nanolm watch`: an exercise's tests each time its file is saved, at once: what they import is loaded while you write.

Run as a module it is the process behind that: it imports, waits for a line with exercises, tests these and ends.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from nanolm.check import command as check
from nanolm.check import parse
from nanolm.course import EXERCISES
from nanolm.implementation import UnknownImplementation, choose
from nanolm.untrusted import printable

POLL_SECONDS = 0.2
"""Between two looks at the files: asking for their times works on every disk, a network's and a container's too."""

Stamps = Mapping[str, tuple[int, int]]
"""By file name when it was changed last, in nanoseconds, and its size."""


def command(arguments: Sequence[str]) -> int:
    """Test now, and again after every change until Ctrl-C; returns 0 then."""
    parser = argparse.ArgumentParser(
        prog="nanolm watch", description="Run an exercise's tests each time its file is saved. Ctrl-C ends it."
    )
    options, root = parse(parser, arguments)
    try:
        folder = choose(root).folder
    except UnknownImplementation as error:
        parser.error(str(error))
    for name in ("SIGTERM", "SIGHUP"):  # a closed terminal ends it as Ctrl-C does
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)
    try:
        watch(folder, options.exercise or list(EXERCISES), lambda: Trial(root))
    except FileNotFoundError as error:
        print(f"\nno longer watching: {printable(str(error.filename))} is gone", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        with suppress(OSError):  # nobody may be there to read it
            print("\nno longer watching", flush=True)
    return 0


class Trial:
    """One run of the tests, in a process of its own that has imported what they need before it is told which."""

    def __init__(self, root: Path) -> None:
        self.exercises: Sequence[str] = ()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "nanolm.watch"],
            cwd=root,
            stdin=subprocess.PIPE,
            text=True,
            # Bytecode is told from stale by whole seconds and size: too coarse for who saves twice in one.
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
            start_new_session=True,  # Ctrl-C is for the one who watches
        )

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def begin(self, exercises: Sequence[str]) -> None:
        """Test these; what comes of it is printed."""
        self.exercises = exercises
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it could not start, and has said why
            self._process.stdin.write(" ".join(exercises) + "\n")
            self._process.stdin.close()

    def end(self) -> None:
        """End it, finished or not, with all that it started: a student's code may ignore what asks politely."""
        if self.running:
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)  # it leads a session of its own
            else:
                self._process.kill()
        self._process.wait()


def watch(folder: Path, exercises: Sequence[str], make_trial: Callable[[], Trial]) -> None:
    """Test these exercises of a folder, and again what a change concerns, until interrupted."""
    files = dict.fromkeys(EXERCISES[name].file for name in exercises)
    print(f"watching {', '.join(f'{folder.name}/{file}' for file in files)}; Ctrl-C ends it", flush=True)
    seen = stamps(folder)
    current, spare = make_trial(), None
    current.begin(exercises)
    try:
        while True:
            time.sleep(POLL_SECONDS)
            if spare is None and not current.running:
                spare = make_trial()
            if stamps(folder) == seen:
                continue
            before, seen = seen, settled(folder)
            wanted = concerned({file for file in {*before, *seen} if before.get(file) != seen.get(file)}, exercises)
            if wanted and current.running:  # what they would say is old, and is not known of the others yet
                wanted = [name for name in exercises if name in {*wanted, *current.exercises}]
            if wanted:
                current.end()
                current, spare = spare or make_trial(), None
                print(f"\n── {time.strftime('%H:%M:%S')} ── {', '.join(wanted)}", flush=True)
                current.begin(wanted)
    finally:
        for trial in (current, spare):
            if trial is not None:
                trial.end()


def stamps(folder: Path) -> Stamps:
    """The Python files of a folder; one that goes while we look is not there."""
    found: dict[str, tuple[int, int]] = {}
    for path in folder.glob("*.py"):
        with suppress(OSError):
            status = path.stat()
            found[path.name] = status.st_mtime_ns, status.st_size
    return found


def settled(folder: Path) -> Stamps:
    """The files once they have stopped changing: an editor saves in several steps."""
    now = stamps(folder)
    while True:
        time.sleep(POLL_SECONDS / 4)
        before, now = now, stamps(folder)
        if before == now:
            return now


def concerned(changed: Collection[str], exercises: Sequence[str]) -> list[str]:
    """The exercises that a change of files concerns: their own file's, and all of them for one that others import."""
    own = {exercise.file for exercise in EXERCISES.values()}
    return [name for name in exercises if EXERCISES[name].file in changed or set(changed) - own]


def _test_when_told() -> int:
    for name in ("torch", "pytest"):
        with suppress(ImportError):  # the tests will say so, and what to do
            importlib.import_module(name)
    exercises = sys.stdin.readline().split()
    return check(exercises) if exercises else 0


if __name__ == "__main__":
    sys.exit(_test_when_told())
