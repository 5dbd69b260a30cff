"""Canaries: what a worker must not be able to do, tried out in one. Each level is proven, never assumed.

`try_all` runs in a locked-down worker and tells of each attempt whether it went through or with what error it was
refused; `shortcomings` says, in the grader, what of that a level does not allow.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from grader.sandbox import Level

OPEN = "open"
"""The attempt went through."""

REFUSALS = ("EACCES", "EPERM", "ENOENT")
EXEC = "run a program"
OWN = "use its own folder"
SECRET = "read the course"

PTRACE_SEIZE = 0x4206
"""Unlike an attach it does not stop the other process."""


def try_all(secrets: Sequence[str], own: Path) -> Iterator[tuple[str, str]]:
    """Name and result of every attempt; the last one, if it went through, would end this process."""
    attempts: dict[str, Callable[[], object]] = {
        **{f"{SECRET} ({number})": partial(_read, secret) for number, secret in enumerate(secrets)},
        "read /etc/passwd": lambda: _read("/etc/passwd"),
        "list other workers' folders": lambda: os.listdir(own.parent),
        "write outside its folder": lambda: _write("/tmp"),
        "write to shared memory": lambda: _write("/dev/shm"),
        "read /proc": lambda: _read("/proc/self/status"),
        "open a socket": lambda: socket.socket().close(),
        "open a local socket": lambda: socket.socket(socket.AF_UNIX).close(),
        "fork": _fork,
        "signal its parent": lambda: os.kill(os.getppid(), 0),
        "trace its parent": _trace,
        "raise a limit of its own": _raise_limit,
        "change a file's mode": lambda: own.chmod(0o700),
        OWN: lambda: _write(str(own)),
        EXEC: lambda: os.execv("/bin/true", ["true"]),
    }
    for name, attempt in attempts.items():
        yield name, _attempt(attempt)


def _attempt(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "an error without a number")
    return OPEN


def _read(path: str) -> None:
    os.close(os.open(path, os.O_RDONLY))


def _write(folder: str) -> None:
    path = os.path.join(folder, f"canary-{os.getpid()}")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    os.unlink(path)


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    with suppress(OSError):
        os.waitpid(pid, 0)


def _raise_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard + 1))
    except ValueError:  # Python's word for a refusal
        raise PermissionError(errno.EPERM, "setrlimit") from None


def _trace() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(PTRACE_SEIZE, os.getppid(), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def shortcomings(level: Level, results: Mapping[str, str]) -> list[str]:
    """What a worker of that level could do and should not, or could not and should; empty where the level holds."""
    wrong = []
    if results.get(OWN) != OPEN:
        wrong.append(f"cannot {OWN} ({results.get(OWN, 'not tried')})")
    if level is Level.WEAK:
        return wrong
    if EXEC not in results:
        wrong.append(f"could {EXEC}, or died trying")
    for name, result in results.items():
        if name != OWN and result not in REFUSALS:
            wrong.append(f"could {name}" if result == OPEN else f"{name}: {result}")
        # In a file view of its own a file is not forbidden: it is not there.
        elif level is Level.FULL and name.startswith(SECRET) and result != "ENOENT":
            wrong.append(f"can tell that the course's files exist ({result})")
    return wrong
