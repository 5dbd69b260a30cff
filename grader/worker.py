"""A worker: a fork of the zygote that confines itself, loads one submission and answers calls until its socket closes.

Everything below `serve` shares a process with a student's code and is therefore believed by nobody: whatever the
worker says is checked again on the other side.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import resource
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import torch

from grader import linux, operators
from grader.sandbox.canaries import try_all
from grader.sandbox.lockdown import Confinement, lock_down
from grader.wire import (
    CannotEncode,
    Frame,
    Inbox,
    decode_call,
    decode_load,
    encode_fault,
    encode_ready,
    encode_reply,
)
from grader.without_torch import WithoutTorch
from nanolm.adapters import ENTRIES
from nanolm.execution import Executor
from nanolm.from_scratch import FORBIDDEN_OPERATORS, WITHOUT_TORCH
from nanolm.protocol import Call, Outcome, StudentFault
from nanolm.sources import TextSource

SEED = 20260
SOCKET_FD, RULESET_FD = 3, 4
MAX_FILE_BYTES = 1024 * 1024
MAX_OPEN_FILES = 256
READ_SIZE = 1024 * 1024
SETUP_FAILED = 70
SEND, EXIT = os.write, os._exit
"""As they are before a submission's first line, which may replace names of `os` and `socket`."""


@dataclass(frozen=True)
class Allowance:
    """What a worker may use."""

    scratch: Path
    memory_bytes: int
    cpu_backstop: int


def main(
    connection_fd: int,
    output_fd: int,
    allowance: Allowance,
    confinement: Confinement,
    parent: int,
    without_torch: WithoutTorch,
    canaries: list[str] | None = None,
) -> None:
    """Become a worker; called in the fork, returns when the grader hangs up, or when the canaries have been tried."""
    os.setsid()
    linux.die_with_parent()
    if os.getppid() != parent:
        return  # the zygote ended between the fork and the line above
    without_torch.ruleset = _keep_only(connection_fd, output_fd, without_torch.ruleset)
    os.chdir(allowance.scratch)
    os.umask(0o077)
    os.environ.update(HOME=str(allowance.scratch), TMPDIR=str(allowance.scratch))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _limit(allowance)
    connection = socket.socket(fileno=SOCKET_FD)
    lock_down(confinement, allowance.scratch)
    if canaries is None:
        serve(connection, without_torch)
        return
    for result in try_all(canaries, allowance.scratch):
        connection.sendall(json.dumps(result).encode() + b"\n")


def _keep_only(connection_fd: int, output_fd: int, ruleset: int | None) -> int | None:
    """Close every file descriptor but the socket and a ruleset, moved to known places, and stdin, stdout and stderr."""
    places = {1: output_fd, 2: output_fd, SOCKET_FD: connection_fd}
    if ruleset is not None:
        places[RULESET_FD] = ruleset
    # First out of the way, since one may lie where another is going.
    copies = {place: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, RULESET_FD + 1) for place, fd in places.items()}
    for place, fd in copies.items():
        os.dup2(fd, place, inheritable=place < SOCKET_FD)
    os.closerange(max(places) + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False, buffering=1)  # noqa: SIM115
    return RULESET_FD if RULESET_FD in places else None


def _limit(allowance: Allowance) -> None:
    addresses = linux.address_space() + allowance.memory_bytes
    for name, soft, hard in (
        (resource.RLIMIT_AS, addresses, addresses),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_FSIZE, MAX_FILE_BYTES, MAX_FILE_BYTES),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES, MAX_OPEN_FILES),
        # The grader watches the time of each test; this ends a worker whose grader does not.
        (resource.RLIMIT_CPU, allowance.cpu_backstop, allowance.cpu_backstop + 5),
    ):
        allowed = resource.getrlimit(name)[1]
        if allowed != resource.RLIM_INFINITY:
            soft, hard = min(soft, allowed), min(hard, allowed)
        try:
            resource.setrlimit(name, (soft, hard))
        except (OSError, ValueError):
            if sys.platform == "linux":
                raise  # elsewhere some limits cannot be set, and isolation is reported as weak anyway


def serve(connection: socket.socket, without_torch: WithoutTorch) -> None:
    """Load the submission's texts, say so, then answer every call in turn."""
    inbox = Inbox()
    load = _receive(connection, inbox)
    if load is None:
        return
    source = TextSource(decode_load(load))
    source.install()
    executor = Executor(source)
    guard = Guard(without_torch)
    connection.sendall(encode_ready())
    while (frame := _receive(connection, inbox)) is not None:
        call = decode_call(frame)
        guard.begin(call, frame.sequence)
        reply = answer(executor, call, frame.sequence)
        _flush()
        connection.sendall(reply)


class Guard:
    """Blocks an exercise's forbidden operators before its first call. One that is called all the same is told to the
    grader at once and ends this process, and the grader remembers it.

    A submission that gets hold of this object can keep it from telling; it does not get the operator by that.
    """

    def __init__(self, without_torch: WithoutTorch) -> None:
        self._without_torch = without_torch
        self._sequence = 0
        self._blocked: set[str] = set()

    def begin(self, call: Call, sequence: int) -> None:
        """A call comes; nothing of it has been run yet."""
        self._sequence = sequence
        exercise = ENTRIES[call.entry].exercise
        if exercise not in self._blocked:
            self._blocked.add(exercise)
            operators.block(FORBIDDEN_OPERATORS.get(exercise, ()), self._refuse)
            if exercise in WITHOUT_TORCH:
                self._without_torch.begin(self._refuse)

    def _refuse(self, fault: StudentFault) -> NoReturn:
        try:
            SEND(SOCKET_FD, encode_fault(fault, self._sequence))
            _flush()
        finally:
            EXIT(0)


def answer(executor: Executor, call: Call, sequence: int) -> bytes:
    """Carry out one call; a result that cannot be sent is a fault like any other."""
    _seed(torch_too=ENTRIES[call.entry].exercise not in WITHOUT_TORCH)
    try:
        try:
            return encode_reply(executor.execute(call), sequence)
        except CannotEncode as error:
            raise StudentFault(error.outcome, str(error)) from None
        except MemoryError:
            raise StudentFault(Outcome.OUT_OF_MEMORY, "more memory was asked for than a test may use") from None
        except StudentFault:
            raise
        except Exception as error:
            # A tensor that is only half one (a wrapper of torch.func, an uninitialised parameter) fails on reading.
            raise StudentFault(Outcome.WRONG_INTERFACE, f"what came back could not be read: {error}") from None
    except StudentFault as fault:
        try:
            return encode_fault(fault, sequence)
        except Exception:
            return encode_fault(StudentFault(fault.outcome, "(its message could not be read)"), sequence)


def _seed(*, torch_too: bool) -> None:
    """The same random numbers for every call, whichever worker takes it and whatever ran before."""
    if torch_too:
        torch.default_generator.manual_seed(SEED)  # torch.manual_seed asks every accelerator too: 90 µs instead of 1
    random.seed(SEED)
    np.random.seed(SEED)


def _receive(connection: socket.socket, inbox: Inbox) -> Frame | None:
    """The next frame, None when the grader has hung up."""
    while True:
        data = connection.recv(min(inbox.wanted, READ_SIZE))
        if not data:
            return None
        if (frame := inbox.feed(data)) is not None:
            return frame


def _flush() -> None:
    """Hand over what the student printed; a stdout that they closed or replaced is theirs to lose."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()
