"""The zygote: a process that has imported torch once and forks workers, each ready in milliseconds.

Run as `python -m grader.zygote FD FOLDER` with an inherited control socket. A fork inherits memory, so nothing of
tests, solutions or mistakes is ever imported here. It computes nothing itself: a backward would start threads, and
threads do not survive a fork. It ends when its control socket closes, and takes every worker and `FOLDER` with it.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import torch

from grader import linux, scratch, worker
from grader.control import (
    Answer,
    ControlChannel,
    ControlClosed,
    End,
    Ended,
    Failed,
    Fork,
    Forked,
    Ready,
    Request,
    Usage,
    Used,
)

PRELOADED = (
    "einops",
    "einops.layers.torch",
    "jaxtyping",
    "numpy.random",
    "torch.func",
    "nanolm.adapters",
    # The first autograd.grad with gradients of outputs imports this (and sympy), 0.3 s that every worker would pay.
    "torch.fx.experimental.symbolic_shapes",
)


def main(control_fd: int, folder: Path) -> None:
    """Import, say ready, serve until the grader hangs up."""
    torch.set_num_threads(1)
    for name in PRELOADED:
        importlib.import_module(name)
    linux.adopt_orphans()
    gc.collect()
    gc.freeze()  # a collection in a worker then leaves these pages shared
    nursery = Nursery(ControlChannel(socket.socket(fileno=control_fd)))
    try:
        nursery.serve()
    finally:
        nursery.end_all()
        scratch.remove(folder)


class Nursery:
    """Carries out the grader's requests, one at a time."""

    def __init__(self, control: ControlChannel) -> None:
        self.control = control
        self.workers: set[int] = set()

    def serve(self) -> None:
        """Answer until the control socket closes."""
        try:
            self.control.send(Ready())
            while True:
                request, fds = self.control.receive()
                try:
                    answer = self._carry_out(request, fds)  # type: ignore[arg-type]
                except OSError as error:
                    answer = Failed(str(error))
                finally:
                    for fd in fds:
                        os.close(fd)
                self.control.send(answer)
        except ControlClosed:
            return

    def _carry_out(self, request: Request, fds: list[int]) -> Answer:
        if isinstance(request, Fork) and len(fds) == 2:
            return Forked(self._fork(request, *fds))
        if isinstance(request, Usage) and request.pid in self.workers:
            return Used(*(linux.usage(request.pid) or (True, 0.0)))
        if isinstance(request, End) and request.pid in self.workers:
            return Ended(self._end(request.pid))
        return Failed(f"not a request to carry out: {type(request).__name__}")

    def _fork(self, request: Fork, connection_fd: int, output_fd: int) -> int:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            # Whatever happens, the child never returns into the zygote's own loop.
            code = worker.SETUP_FAILED
            try:
                limits = worker.Confinement(request.scratch, request.memory_bytes, request.cpu_backstop)
                worker.main(connection_fd, output_fd, limits, parent)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        self.workers.add(pid)
        return pid

    def _end(self, pid: int) -> int:
        """Kill a worker with all that it started, and collect it; the status of one that had ended before stays."""
        # The pid is ours until waitpid: neither it nor its group can have become somebody else's.
        for kill in (os.killpg, os.kill):
            with suppress(OSError):
                kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        self.workers.discard(pid)
        self._end_strays()
        return os.waitstatus_to_exitcode(status)

    def _end_strays(self) -> None:
        """Kill descendants of ended workers that left their group: their parent gone, they are children of this one."""
        for _ in range(100):
            strays = set(linux.children()) - self.workers
            if not strays:
                return
            for pid in strays:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)

    def end_all(self) -> None:
        """Leave no process behind."""
        for pid in list(self.workers):
            with suppress(OSError):
                self._end(pid)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
