"""A submission's worker as the job sees it: one deadline a call, a fresh process after a death or a broken device."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from grader import scratch
from grader.gpu import frames
from nanolm.protocol import Call, Fact, Outcome, Reply, StudentFault

START_SECONDS = 120.0
"""Importing torch from a cold disk, and the first use of the device."""
CALL_SECONDS = 20.0
COMPILE_SECONDS = 120.0

BROKEN_DEVICE = re.compile(r"CUDA error|CUBLAS_STATUS|device-side assert", re.IGNORECASE)
"""After one of these every later call of the same process fails too."""

KEPT = ("PATH", "HOME", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "TRITON_CACHE_DIR", "TRITON_PTXAS_PATH",
        "LANG", "NVIDIA_VISIBLE_DEVICES", "CC")  # fmt: skip
"""Of our environment a worker gets these, and no secret."""


class Worker:
    """One process; calls are answered one after the other."""

    def __init__(self, device: str) -> None:
        self.scratch = scratch.make("nanolm-gpu-")
        ours, theirs = os.pipe(), os.pipe()
        self._to, self._from = ours[1], theirs[0]
        # The same interpreter with the same search path, which may be one that no installation knows of.
        code = f"import sys; sys.path[:] = {json.dumps(sys.path)}; from grader.gpu.worker import main; main()"
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment |= {"TMPDIR": str(self.scratch), "TORCHINDUCTOR_CACHE_DIR": str(self.scratch / "inductor")}
        self._process = subprocess.Popen(
            [sys.executable, *flags, "-c", code, device, str(ours[0]), str(theirs[1])],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.scratch,
            env=environment, pass_fds=(ours[0], theirs[1]), start_new_session=True,
        )  # fmt: skip
        os.close(ours[0])
        os.close(theirs[1])
        os.set_blocking(self._to, False)

    def ask(self, frame: bytes, seconds: float) -> Reply:
        """Send a frame and wait for its answer. Raises StudentFault: the student's, a time-out, a death."""
        deadline = time.monotonic() + seconds
        try:
            self._send(frame, deadline)
            return frames.read_answer(*frames.unpacked(lambda count: self._read(count, deadline)))
        except TimeoutError:
            self.end()
            raise StudentFault(Outcome.TIMEOUT, f"stopped after {seconds:g} s on the device") from None
        except (OSError, EOFError):
            status = self.end()
            raise StudentFault(Outcome.CRASHED, f"the process died in this call (status {status})") from None
        except frames.FrameError as error:
            self.end()
            raise StudentFault(Outcome.CRASHED, f"the process sent something else than a reply: {error}") from None

    def _send(self, frame: bytes, deadline: float) -> None:
        view = memoryview(frame)
        while view:
            if not select.select([], [self._to], [], max(0.0, deadline - time.monotonic()))[1]:
                raise TimeoutError
            with suppress(BlockingIOError):
                view = view[os.write(self._to, view) :]

    def _read(self, count: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < count:
            if not select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError
            part = os.read(self._from, min(count - len(data), 1 << 20))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def end(self) -> int | None:
        """Kill the process and all that it started; returns its exit status."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        status = self._process.wait()
        for descriptor in (self._to, self._from):
            with suppress(OSError):
                os.close(descriptor)
        scratch.remove(self.scratch)
        return status


class GpuBackend:
    """One submission on a device. Its process outlives an exercise: starting one takes seconds there."""

    def __init__(
        self, texts: Mapping[str, str], device: str, *, until: float = float("inf"), call_seconds: float = CALL_SECONDS
    ) -> None:
        self.name = f"worker on {device}"
        self.warm_up_seconds = 0.0
        self._texts, self._device, self._until, self._call_seconds = dict(texts), device, until, call_seconds
        self._worker: Worker | None = None

    def start_test(self, cpu_seconds: float = float("inf")) -> None:
        """Each call has its own deadline; a test needs no budget of its own."""

    def end(self) -> None:
        """An exercise is over: nothing to do, `close` ends the process."""

    def close(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def run(self, call: Call) -> Reply:
        """Carry out one call."""
        longest = COMPILE_SECONDS if call.conditions.compiled else self._call_seconds
        return self._ask(lambda: frames.call_frame(call), longest)

    def bandwidth(self) -> list[dict[str, Fact]]:
        """Rows of the bandwidth measurement: see `nanolm.gpu.bandwidth`. Raises StudentFault."""
        rows = self._ask(lambda: frames.packed({"do": "bandwidth"}, {}), COMPILE_SECONDS).facts.get("rows")
        if not isinstance(rows, list):
            raise StudentFault(Outcome.CRASHED, "the measurement gave no rows")
        return [row for row in rows if isinstance(row, dict)]

    def _ask(self, frame: Callable[[], bytes], seconds: float) -> Reply:
        left = self._until - time.monotonic()
        if left <= 0:
            raise StudentFault(Outcome.NOT_RUN_HERE, "not run: the time of the GPU job was up")
        if self._worker is None:
            start = time.monotonic()
            self._worker = Worker(self._device)
            self._guarded(frames.packed({"do": "load", "texts": self._texts}, {}), min(START_SECONDS, left))
            self.warm_up_seconds += time.monotonic() - start
        return self._guarded(frame(), min(seconds, max(left, 1.0)))

    def _guarded(self, frame: bytes, seconds: float) -> Reply:
        assert self._worker is not None
        try:
            return self._worker.ask(frame, seconds)
        except StudentFault as fault:
            if fault.outcome in (Outcome.TIMEOUT, Outcome.CRASHED):
                self._worker = None
            elif BROKEN_DEVICE.search(fault.message):
                self.close()
            raise
