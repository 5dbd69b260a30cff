"""Where workers come from: the grader's handle on its zygote, and what a worker may use."""

from __future__ import annotations

import math
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, NoReturn, Self

import msgspec

from grader import scratch
from grader.connection import Connection
from grader.control import (
    Answer,
    Confine,
    Confined,
    ControlChannel,
    ControlClosed,
    End,
    Ended,
    Fork,
    Forked,
    Request,
    Usage,
    Used,
)
from grader.sandbox import Level, bubblewrap, seccomp
from grader.sandbox.canaries import shortcomings
from grader.sandbox.view import View, view

MODULE = "grader.zygote"
START_SECONDS = 60.0
CONTROL_SECONDS = 10.0

PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ")
"""The only variables of the grader's environment that a worker sees; secrets travel in others."""

FIXED_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUTF8": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "TORCHDYNAMO_DISABLE": "1",  # torch.compile gives back what it was given: compiling takes longer than a test may
}


class InfrastructureError(Exception):
    """The grader's own machinery failed; nothing is known about the student's code."""


class IsolationError(InfrastructureError):
    """Workers cannot be shut in as tightly as was asked for."""


@dataclass(frozen=True)
class Limits:
    """What one test may use over all its calls (time), and what its worker may take beside its beginnings (memory).

    With a build of torch for CUDA it begins with 3 GiB of addresses, with one for the CPU at half of one.
    """

    cpu_seconds: float = 2.0
    wall_seconds: float = 10.0
    memory_bytes: int = 5 * 1024**3 // 2

    @property
    def cpu_backstop(self) -> int:
        """CPU seconds after which the kernel ends a worker that no grader watches: many tests' worth."""
        return max(60, math.ceil(100 * self.cpu_seconds))


@dataclass(frozen=True)
class WorkerHandle:
    """A forked worker. Its pid is the zygote's to act on."""

    pid: int
    connection: Connection
    generation: int


class Zygote:
    """The process that workers are forked from: started on first use, and again after it has died.

    To be used from one thread. Workers never outlive it, and it never outlives the grader. A worker that could do more
    than `level` allows, or could see one of the files in `hidden`, is never forked: each start is proven by canaries.
    """

    def __init__(self, level: Level = Level.FULL, hidden: Sequence[Path] = ()) -> None:
        self.level = level
        self._hidden = tuple(hidden)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: ControlChannel | None = None
        self._folder: Path | None = None
        self._log: IO[bytes] | None = None
        self._generation = 0

    def __enter__(self) -> Self:
        """Start at once, so that what cannot start is known at once."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self.close()

    @property
    def pid(self) -> int | None:
        """The zygote's process id, None while there is none."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the process, wait until it has imported everything, and prove its level; does nothing while one runs.

        Raises InfrastructureError, IsolationError where the level cannot be had here.
        """
        if self._process is not None and self._process.poll() is None:
            return
        self._clear()
        self._generation += 1
        try:
            self._launch()
            self._prove()
        except ControlClosed as error:
            self._lost(str(error))
        except BaseException:
            self._clear()
            raise

    def _launch(self) -> None:
        seen, program = self._prepare()
        inside = bubblewrap.SCRATCH
        if self.level is not Level.FULL:
            self._folder = inside = scratch.make()
        self._log = log = tempfile.TemporaryFile()  # noqa: SIM115
        ours, theirs = socket.socketpair()
        ours.settimeout(START_SECONDS)
        self._control = ControlChannel(ours)
        # Not -I: it would ignore PYTHONHASHSEED. The environment is ours, so -s and -P close what else -I closes.
        command = [sys.executable, "-s", "-P", "-m", MODULE, str(theirs.fileno())]
        if self.level is Level.FULL:
            command = bubblewrap.command(bubblewrap.find(), seen, self._hidden, command)
        with theirs:
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd=self._folder or "/",
                env={name: os.environ[name] for name in PASSED_ON if name in os.environ}
                | FIXED_ENVIRONMENT
                | {"HOME": str(inside), "TMPDIR": str(inside)},
                start_new_session=True,  # Ctrl-C at the terminal is the grader's to handle
            )
        self._answer()  # Ready, the only message that nobody asks for
        ours.settimeout(CONTROL_SECONDS)
        readable = [str(path) for path in seen.readable]
        answer = self._ask(Confine(self.level, str(inside), self.level is Level.FULL, readable, program))
        if not isinstance(answer, Confined):
            raise IsolationError(f"workers cannot be confined: {answer}")

    def _prepare(self) -> tuple[View, bytes]:
        """What workers are shown, and their filter; raises IsolationError where something for it is missing."""
        if self.level is Level.WEAK:
            return View((), ()), b""
        try:
            if self.level is Level.FULL:
                bubblewrap.find()
            return view(self._hidden), seccomp.program()
        except OSError as error:
            raise IsolationError(str(error)) from error

    def _prove(self) -> None:
        """Have a worker try what none may do; raises IsolationError where it could."""
        if self.level is Level.WEAK:
            return
        results = self.canaries([str(path) for path in self._hidden])
        if found := shortcomings(self.level, results):
            raise IsolationError(f"isolation is not {self.level} here: a worker {'; '.join(found)}")

    def canaries(self, secrets: Sequence[str]) -> dict[str, str]:
        """What a worker that tried everything could do, by the name of the attempt; raises InfrastructureError."""
        pid, ours, output = self._forked(Limits(), list(secrets))
        with ours, open(output, "rb", buffering=0) as said:
            ours.settimeout(CONTROL_SECONDS)
            try:
                with ours.makefile("rb") as lines:
                    results = dict(msgspec.json.decode(line, type=tuple[str, str]) for line in lines)
            except (OSError, msgspec.MsgspecError) as error:
                raise InfrastructureError(f"the canaries' results could not be read: {error}") from error
            finally:
                self._ask(End(pid))
            if not results:
                raise InfrastructureError(f"no worker got ready: {said.read(4000).decode(errors='replace')}")
            return results

    def fork(self, limits: Limits) -> WorkerHandle:
        """A fresh worker, confined and waiting for its texts; raises InfrastructureError."""
        self.start()
        pid, ours, output = self._forked(limits)
        return WorkerHandle(pid, Connection(ours, output), self._generation)

    def _forked(self, limits: Limits, canaries: list[str] | None = None) -> tuple[int, socket.socket, int]:
        """A fork: its process id, our end of its socket, and the pipe that its output comes through."""
        ours, theirs = socket.socketpair()
        output, theirs_output = os.pipe()
        try:
            with theirs:
                request = Fork(limits.memory_bytes, limits.cpu_backstop, canaries)
                answer = self._ask(request, [theirs.fileno(), theirs_output])
            if not isinstance(answer, Forked):
                raise InfrastructureError(f"no worker could be forked: {answer}")
        except BaseException:
            ours.close()
            os.close(output)
            raise
        finally:
            os.close(theirs_output)
        return answer.pid, ours, output

    def usage(self, worker: WorkerHandle) -> Used:
        """Whether the worker runs, and the CPU time it has used; raises InfrastructureError."""
        answer = self._ask(Usage(worker.pid), of=worker)
        if not isinstance(answer, Used):
            raise InfrastructureError(f"a worker is unknown to its zygote: {answer}")
        return answer

    def end(self, worker: WorkerHandle) -> int:
        """Kill the worker with all it started, and its folder; its exit code, or minus its signal's number."""
        try:
            answer = self._ask(End(worker.pid), of=worker)
        finally:
            worker.connection.close()
        if not isinstance(answer, Ended):
            raise InfrastructureError(f"a worker could not be ended: {answer}")
        return answer.code

    def close(self) -> None:
        """End the zygote and every worker; it can be started again."""
        if self._control is not None:
            self._control.connection.close()
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(CONTROL_SECONDS)
        self._clear()

    def _ask(self, request: Request, fds: list[int] | None = None, of: WorkerHandle | None = None) -> Answer:
        if self._control is None or self._process is None or (of and of.generation != self._generation):
            raise InfrastructureError("the worker's zygote has ended")
        try:
            self._control.send(request, fds or ())
            return self._answer()
        except ControlClosed as error:
            self._lost(str(error))
        except BaseException:
            self._clear()  # interrupted between a question and its answer: the next answer would be to this one
            raise

    def _answer(self) -> Answer:
        assert self._control is not None
        answer, _ = self._control.receive()
        assert isinstance(answer, Answer)
        return answer

    def _lost(self, why: str) -> NoReturn:
        log = ""
        if self._log is not None:
            self._log.seek(0)
            log = self._log.read().decode(errors="replace")[-2000:]
        self._clear()
        raise InfrastructureError(f"the zygote does not answer ({why}) {log}".rstrip())

    def _clear(self) -> None:
        """Forget a zygote, ending it first if need be."""
        if self._control is not None:
            self._control.connection.close()
            self._control = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._folder is not None:
            scratch.remove(self._folder)
            self._folder = None
        if self._log is not None:
            self._log.close()
            self._log = None
