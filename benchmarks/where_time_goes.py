"""Where the milliseconds of one submission go, in the grader's process: own time by part, and waiting for workers.

`python benchmarks/where_time_goes.py [COUNT]`. Own times are the profiler's, which slows Python itself by about half:
take them as shares. The floor is what the same calls take in a worker: the wait for replies.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import tempfile
import time
from pathlib import Path

from grader.bank import package_job
from grader.circumstances import circumstances
from grader.ledger import Recording
from grader.pool import grade_all
from grader.session import Settings

ROOT = Path(__file__).resolve().parent.parent

PARTS = {
    "waiting for replies": ("'select.poll'",),
    "starting and ending workers": ("grader/workers.py", "grader/control.py", "'recvmsg'", "'sendmsg'"),
    "frames": (
        "grader/wire.py",
        "grader/arrays.py",
        "grader/connection.py",
        "safetensors",
        "msgspec",
        "'_socket.socket'",
    ),
    "ledger": ("grader/ledger.py", "sqlite3"),
    "oracles and inputs": ("/tests/", "numpy"),
    "checks, fixtures, verdicts": ("/nanolm/",),
    "hypothesis": ("hypothesis",),
    "pytest": ("_pytest", "pluggy"),
    "torch": ("torch",),
}
"""Part → what the profiler calls its functions; the first that fits takes a function."""


def part_of(function: tuple[str, int, str]) -> str:
    """The part that a profiled function belongs to."""
    file, _, name = function
    whole = f"{file}:{name}"
    return next((part for part, marks in PARTS.items() if any(mark in whole for mark in marks)), "the rest of Python")


def main(count: int) -> None:
    """Profile a run over reference submissions; the first two warm up."""
    settings = Settings(ROOT, isolation="best")
    with tempfile.TemporaryDirectory() as folder:
        recording = Recording(Path(folder) / "ledger.db", circumstances(settings))
        jobs = [package_job(ROOT, "solutions", f"reference {number}") for number in range(count)]
        profiler = cProfile.Profile()
        clock: list[float] = []

        def warm(result: object) -> None:
            clock.append(time.perf_counter())
            if len(clock) == 2:
                profiler.enable()

        grade_all(jobs, settings, warm, processes=1, recording=recording)
        profiler.disable()
    each = (clock[-1] - clock[1]) / (count - 2) * 1000
    stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    own: dict[str, float] = {}
    for function, (_, _, seconds, _, _) in stats.items():
        part = part_of(function)
        own[part] = own.get(part, 0.0) + seconds * 1000 / (count - 2)
    print(f"{each:.0f} ms a submission (profiled)")
    for part, milliseconds in sorted(own.items(), key=lambda item: -item[1]):
        print(f"| {part} | {milliseconds:.0f} | {100 * milliseconds / sum(own.values()):.0f} % |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
