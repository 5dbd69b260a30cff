"""The process that holds one submission on the device: `python -m grader.gpu.worker DEVICE IN OUT`.

A process with limits on file size and device memory, and nothing more: level `weak`. Limits on address space would end
CUDA, and torch.compile and Triton start compilers. The job keeps tests, oracles and seeds in another process, but a
hostile submission can read and change whatever its user can.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress

import torch

from grader.gpu import frames
from nanolm.execution import Executor
from nanolm.gpu.placing import back, placed
from nanolm.protocol import Outcome, Reply, StudentFault
from nanolm.sources import TextSource

FILE_BYTES = 1 << 30
"""Compiled kernels are files too."""
MEMORY_SHARE = 0.5


def main() -> None:
    """Serve until the job closes its end."""
    device, incoming, outgoing = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    _limit(device)
    executor: Executor | None = None
    with os.fdopen(incoming, "rb") as source, os.fdopen(outgoing, "wb") as target:
        while True:
            try:
                header, groups = frames.unpacked(_exactly(source.read))
            except EOFError:
                return
            if header["do"] == "load":
                texts = TextSource(header["texts"])
                texts.install()
                executor = Executor(texts)
                answer = frames.reply_frame(Reply())
            else:
                assert executor is not None
                answer = _answer(executor, header, groups, device)
            target.write(answer)
            target.flush()


def _answer(
    executor: Executor, header: dict[str, object], groups: dict[str, dict[str, torch.Tensor]], device: str
) -> bytes:
    try:
        if header["do"] == "bandwidth":
            from nanolm.gpu.bandwidth import measure

            return frames.reply_frame(Reply(facts={"rows": measure(executor.source, device)}))
        reply = back(executor.execute(placed(frames.read_call(header, groups), device)))
        return frames.reply_frame(reply)
    except StudentFault as fault:
        return frames.fault_frame(fault)
    except Exception as error:  # what a student's tensor does when it is copied home, an error of the device
        return frames.fault_frame(StudentFault(Outcome.EXCEPTION, str(error)[:2000], kind=type(error).__name__))


def _exactly(read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    def exactly(count: int) -> bytes:
        data = read(count)
        if len(data) != count:
            raise EOFError
        return data

    return exactly


def _limit(device: str) -> None:
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if device.startswith("cuda"):
        torch.cuda.set_per_process_memory_fraction(MEMORY_SHARE)
    else:
        torch.set_num_threads(1)  # the arrays are small, and threads would wait for each other


if __name__ == "__main__":
    main()
