"""What the grader asks of its zygote, and the answers: one JSON object a line over a socket that also passes fds.

Process ids are meant as the zygote sees them, and only the zygote acts on them: it is the parent, so a pid stays
reserved until it has collected the exit, and it may live in a namespace of its own.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

import msgspec

MAX_LINE = 64 * 1024
MAX_FDS = 2


class Confine(msgspec.Struct, frozen=True, tag="confine"):
    """The first request: how every worker is to be shut in. `scratch` is the folder for theirs, as the zygote sees it;
    with `mount` the zygote first mounts a bounded file system there.
    """

    level: str
    scratch: str
    mount: bool
    readable: list[str]
    program: bytes


class Fork(msgspec.Struct, frozen=True, tag="fork"):
    """Fork a worker; its socket and the pipe for its output come along as fds.

    With `canaries` it serves nobody: it tries what a worker must not be able to do, writes results and ends.
    """

    memory_bytes: int
    cpu_backstop: int
    canaries: list[str] | None = None


class Usage(msgspec.Struct, frozen=True, tag="usage"):
    """Does this worker still run, and what has it used?"""

    pid: int


class End(msgspec.Struct, frozen=True, tag="end"):
    """Kill the worker and whatever it started, and report how it ended; one that had ended before keeps its status."""

    pid: int


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The zygote has imported everything."""


class Confined(msgspec.Struct, frozen=True, tag="confined"):
    """The zygote is ready to fork."""


class Forked(msgspec.Struct, frozen=True, tag="forked"):
    """The worker's process id."""

    pid: int


class Used(msgspec.Struct, frozen=True, tag="used"):
    """CPU seconds of all threads of a worker."""

    alive: bool
    cpu_seconds: float


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """The wait status: an exit code, or minus the signal's number."""

    code: int


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The request could not be carried out."""

    message: str


Request = Confine | Fork | Usage | End
Answer = Ready | Confined | Forked | Used | Ended | Failed

_DECODER = msgspec.json.Decoder(Request | Answer)  # made at once: the zygote hides the modules that it is read from


class ControlClosed(Exception):
    """The other side of the control socket is gone, or speaks nonsense."""


class ControlChannel:
    """One side of the control socket. Requests and answers alternate, so a line never shares a read with another."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def send(self, message: Request | Answer, fds: Sequence[int] = ()) -> None:
        """Write one message; raises ControlClosed."""
        try:
            line = msgspec.json.encode(message) + b"\n"
            sent = socket.send_fds(self.connection, [line], list(fds)) if fds else 0
            self.connection.sendall(line[sent:])
        except OSError as error:
            raise ControlClosed(str(error)) from error

    def receive(self) -> tuple[Request | Answer, list[int]]:
        """Read one message and the fds that came with it; raises ControlClosed."""
        line = bytearray()
        fds: list[int] = []
        try:
            while not line.endswith(b"\n"):
                data, received, _, _ = socket.recv_fds(self.connection, MAX_LINE, MAX_FDS)
                fds += received
                line += data
                if not data or len(line) > MAX_LINE:
                    raise ControlClosed("end of messages")
            return _DECODER.decode(bytes(line)), fds
        except (OSError, msgspec.MsgspecError, ControlClosed) as error:
            for fd in fds:
                os.close(fd)
            raise ControlClosed(str(error)) from error
