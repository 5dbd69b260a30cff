"""Where workers come from: the grader's handle on its zygote, and what a worker may use."""

from __future__ import annotations

import math
import os
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from grader import scratch
from grader.connection import Connection
from grader.control import Answer, ControlChannel, ControlClosed, End, Ended, Fork, Forked, Request, Usage, Used

MODULE = "grader.zygote"
LOG = "zygote.log"
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


@dataclass(frozen=True)
class Limits:
    """What one test may use over all its calls (time), and what its worker may hold (memory)."""

    cpu_seconds: float = 2.0
    wall_seconds: float = 10.0
    memory_bytes: int = 3 * 1024**3

    @property
    def cpu_backstop(self) -> int:
        """CPU seconds after which the kernel ends a worker that no grader watches: many tests' worth."""
        return max(60, math.ceil(100 * self.cpu_seconds))


@dataclass(frozen=True)
class WorkerHandle:
    """A forked worker. Its pid is the zygote's to act on."""

    pid: int
    connection: Connection
    folder: Path
    generation: int


class Zygote:
    """The process that workers are forked from: started on first use, and again after it has died.

    To be used from one thread. Workers never outlive it, and it never outlives the grader.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._control: ControlChannel | None = None
        self._folder: Path | None = None
        self._generation = 0
        self._forked = 0

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
        """Start the process and wait until it has imported everything; does nothing while one runs."""
        if self._process is not None and self._process.poll() is None:
            return
        self._clear()
        self._generation += 1
        try:
            self._launch()
        except ControlClosed as error:
            self._lost(str(error))
        except BaseException:
            self._clear()
            raise

    def _launch(self) -> None:
        self._folder = folder = scratch.make()
        empty = folder / "empty"
        empty.mkdir()
        ours, theirs = socket.socketpair()
        ours.settimeout(START_SECONDS)
        self._control = ControlChannel(ours)
        # Not -I: it would ignore PYTHONHASHSEED. The environment is ours, so -s and -P close what else -I closes.
        command = [sys.executable, "-s", "-P", "-m", MODULE, str(theirs.fileno()), str(folder)]
        with theirs, (folder / LOG).open("wb") as log:
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd=empty,
                env={name: os.environ[name] for name in PASSED_ON if name in os.environ}
                | FIXED_ENVIRONMENT
                | {"HOME": str(empty), "TMPDIR": str(empty)},
                start_new_session=True,  # Ctrl-C at the terminal is the grader's to handle
            )
        self._answer()  # Ready, the only message that nobody asks for
        ours.settimeout(CONTROL_SECONDS)

    def fork(self, limits: Limits) -> WorkerHandle:
        """A fresh worker, confined and waiting for its texts; raises InfrastructureError."""
        self.start()
        assert self._folder is not None
        self._forked += 1
        folder = self._folder / f"worker-{self._forked}"
        folder.mkdir(mode=0o700)
        ours, theirs = socket.socketpair()
        output, theirs_output = os.pipe()
        connection = Connection(ours, output)
        try:
            with theirs:
                request = Fork(str(folder), limits.memory_bytes, limits.cpu_backstop)
                answer = self._ask(request, [theirs.fileno(), theirs_output])
            if not isinstance(answer, Forked):
                raise InfrastructureError(f"no worker could be forked: {answer}")
        except BaseException:
            connection.close()
            scratch.remove(folder)
            raise
        finally:
            os.close(theirs_output)
        return WorkerHandle(answer.pid, connection, folder, self._generation)

    def usage(self, worker: WorkerHandle) -> Used:
        """Whether the worker runs, and the CPU time it has used; raises InfrastructureError."""
        answer = self._ask(Usage(worker.pid), of=worker)
        if not isinstance(answer, Used):
            raise InfrastructureError(f"a worker is unknown to its zygote: {answer}")
        return answer

    def end(self, worker: WorkerHandle) -> int:
        """Kill the worker with all it started, remove its folder; its exit code, or minus its signal's number."""
        try:
            answer = self._ask(End(worker.pid), of=worker)
        finally:
            worker.connection.close()
            scratch.remove(worker.folder)
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
        if self._folder is not None:
            with suppress(OSError):
                log = (self._folder / LOG).read_text(errors="replace")[-2000:]
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
