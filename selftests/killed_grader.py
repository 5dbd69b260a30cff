"""Grades a small class into a ledger again and again, killed at random moments: `python -m selftests.killed_grader`.

Each attempt is a fork of this process, so that an attempt costs no import. Prints what came of it as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from grader.bank import given
from grader.circumstances import circumstances
from grader.job import Job
from grader.ledger import Ledger, Recording
from grader.pool import _grade_here
from grader.sandbox import Level
from grader.session import Settings

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = Settings(ROOT, ("swiglu", "budget"), round="killed", secret=b"a secret", isolation=Level.WEAK.value)


def jobs(recording: Recording) -> list[Job]:
    """Right, wrong, crashing, absent and forbidden answers, with what the ledger knows of each."""
    solutions = {name: (ROOT / "solutions" / name).read_text(encoding="utf-8") for name in ("modules.py", "budget.py")}
    wrong = (ROOT / "mistakes" / "rejected" / "swiglu" / "gelu-gate.py").read_text(encoding="utf-8")
    crash = solutions["modules.py"].replace(
        "def forward(self", "def forward(self, *a):\n        import os; os.abort()\n\n    def f(self"
    )
    texts = {
        "right": solutions,
        "wrong": {**solutions, "modules.py": wrong},
        "crashing": {**solutions, "modules.py": crash},
        "absent": {"modules.py": solutions["modules.py"]},
        "forbidden": {**solutions, "budget.py": solutions["budget.py"] + "\nexec('')\n"},
    }
    with Ledger(recording.path) as ledger:
        return [
            Job(
                name,
                {**files, **given(ROOT)},
                digest=name,
                known=ledger.known(name, recording.circumstances, Level.WEAK).verdicts,
            )
            for name, files in texts.items()
        ]


def attempt(path: Path, seconds: float | None) -> bool:
    """Grade in a fork that is killed after so many seconds; whether it was."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            recording = Recording(path, circumstances(SETTINGS))
            _grade_here(iter(jobs(recording)), SETTINGS, lambda result: None, None, recording)
            status = 0
        finally:
            os._exit(status)
    if seconds is None:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, status
            return False
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return True


def content(path: Path) -> list[list[object]]:
    """The ledger's verdicts."""
    with Ledger(path) as ledger:
        return [list(row) for row in ledger.content()]


def main(folder: Path, kills: int) -> None:
    """Grade once in peace; then, ledger after ledger, kill until enough have died, finish each, and compare."""
    draw = random.Random(5)
    started = time.monotonic()
    assert not attempt(folder / "peace.db", None)
    whole = time.monotonic() - started
    expected, killed, partial, differing, series = content(folder / "peace.db"), 0, set(), [], 0
    while killed < kills:
        path, series = folder / f"{series}.db", series + 1
        while killed < kills and attempt(path, draw.uniform(0.0, 0.8 * whole)):
            killed += 1
            partial.add(len(content(path)))
        assert not attempt(path, None)
        if content(path) != expected:
            differing.append(path.name)
    json.dump(
        {
            "verdicts": len(expected),
            "killed": killed,
            "series": series,
            "partial": sorted(partial),
            "differing": differing,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
