"""The zygote: a process that has imported torch once and forks workers, each ready in milliseconds.

Run as `python -m grader.zygote FD` with an inherited control socket. A fork inherits memory, so nothing of
tests, solutions or mistakes is ever imported here. It runs no backward: that would start threads, and threads do not
survive a fork. It ends when its control socket closes, and takes every worker and its folder with it.
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

from grader import fences, linux, scratch, wire, worker
from grader.control import (
    Answer,
    Confine,
    Confined,
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
from grader.sandbox import Level, bubblewrap
from grader.sandbox.lockdown import Confinement
from grader.without_torch import WithoutTorch
from nanolm.course_stack import course_stack

PRELOADED = (
    "einops",
    "einops.layers.torch",
    "jaxtyping",
    "numpy.random",
    "torch.func",
    "nanolm.adapters",
)


def main(control_fd: int) -> None:
    """Import, say ready, serve until the grader hangs up."""
    torch.set_num_threads(1)
    for name in PRELOADED:
        importlib.import_module(name)
    _ask_for_the_processor()
    wire.warm_up()
    course_stack()
    linux.adopt_orphans()
    without_torch = WithoutTorch()
    fences.hide_the_house()
    gc.collect()
    gc.freeze()  # a collection in a worker then leaves these pages shared
    linux.collapse_pages()
    nursery = Nursery(ControlChannel(socket.socket(fileno=control_fd)), without_torch)
    try:
        nursery.serve()
    finally:
        nursery.end_all()
        nursery.remove_scratch()


def _ask_for_the_processor() -> None:
    """Torch reads /proc and /sys about the processor at the first product in half precision; a worker sees neither."""
    for dtype in (torch.float16, torch.bfloat16):
        square = torch.ones(2, 2, dtype=dtype)
        torch.nn.functional.linear(square @ square, square)


class Nursery:
    """Carries out the grader's requests, one at a time."""

    def __init__(self, control: ControlChannel, without_torch: WithoutTorch) -> None:
        self.control = control
        self._without_torch = without_torch
        self.workers: dict[int, Path] = {}
        self._confinement: Confinement | None = None
        self._scratch = Path()
        self._forked = 0

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
        if isinstance(request, Confine) and self._confinement is None:
            return self._confine(request)
        if isinstance(request, Fork) and len(fds) == 2 and self._confinement is not None:
            return Forked(self._fork(request, self._confinement, *fds))
        if isinstance(request, Usage) and request.pid in self.workers:
            return Used(*(linux.usage(request.pid) or (True, 0.0)))
        if isinstance(request, End) and request.pid in self.workers:
            return Ended(self._end(request.pid))
        return Failed(f"not a request to carry out: {type(request).__name__}")

    def _confine(self, request: Confine) -> Answer:
        """Learn how workers are shut in; whatever privilege the zygote needed for it is given up here."""
        level = Level(request.level)
        if request.mount:
            bubblewrap.mount_scratch()
        if level is not Level.WEAK:
            linux.drop_capabilities()
        self._scratch = Path(request.scratch)
        self._confinement = Confinement(level, tuple(map(Path, request.readable)), request.program)
        if level is not Level.WEAK:
            self._without_torch.keep_out(self._confinement.readable, self._scratch)
        return Confined()

    def _fork(self, request: Fork, confinement: Confinement, connection_fd: int, output_fd: int) -> int:
        parent = os.getpid()
        self._forked += 1
        own = self._scratch / f"worker-{self._forked}"
        own.mkdir(mode=0o700)
        try:
            pid = os.fork()
        except OSError:
            scratch.remove(own)
            raise
        if pid == 0:
            # Whatever happens, the child never returns into the zygote's own loop.
            code = worker.SETUP_FAILED
            try:
                allowance = worker.Allowance(own, request.memory_bytes, request.cpu_backstop)
                worker.main(
                    connection_fd, output_fd, allowance, confinement, parent, self._without_torch, request.canaries
                )
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        self.workers[pid] = own
        return pid

    def _end(self, pid: int) -> int:
        """Kill a worker with all that it started, and collect it; the status of one that had ended before stays."""
        # The pid is ours until waitpid: neither it nor its group can have become somebody else's.
        for kill in (os.killpg, os.kill):
            with suppress(OSError):
                kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        self._end_strays()
        scratch.remove(self.workers.pop(pid))
        return os.waitstatus_to_exitcode(status)

    def _end_strays(self) -> None:
        """Kill descendants of ended workers that left their group: their parent gone, they are children of this one."""
        for _ in range(100):
            strays = set(linux.children()) - self.workers.keys()
            if not strays:
                return
            for pid in strays:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)

    def remove_scratch(self) -> None:
        """Leave no file behind either: the grader may have been killed. A mounted one goes with its namespace."""
        if self._confinement is not None and self._confinement.level is not Level.FULL:
            scratch.remove(self._scratch)

    def end_all(self) -> None:
        """Leave no process behind."""
        for pid in list(self.workers):
            with suppress(OSError):
                self._end(pid)


if __name__ == "__main__":
    main(int(sys.argv[1]))
