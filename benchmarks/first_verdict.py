"""From the start of `nanolm grade` to its first verdict, to its last, and for a single exercise.

`python benchmarks/first_verdict.py [RUNS]`: one reference submission with a ledger, isolation best. Beside each time
its ratio to what a bare `import torch` takes, measured in the same run.
"""

from __future__ import annotations

import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GRADE = [sys.executable, "-m", "nanolm.cli", "grade", "--isolation", "best"]
POLL_SECONDS = 0.005


def verdicts(ledger: Path) -> int:
    """How many verdicts a ledger holds that may not be there yet."""
    if ledger.is_file():
        with (
            suppress(sqlite3.OperationalError),
            closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection,
        ):
            return int(connection.execute("SELECT count(*) FROM verdicts").fetchone()[0])
    return 0


def timed(command: list[str], ledger: Path) -> tuple[float, float]:
    """Seconds from the start to the first verdict in the ledger, and to the end of the command."""
    start = time.perf_counter()
    first = None
    with subprocess.Popen([*command, "--ledger", str(ledger)], cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if first is None and verdicts(ledger):
                first = time.perf_counter() - start
            time.sleep(POLL_SECONDS)
    if process.returncode != 0 or first is None:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return first, time.perf_counter() - start


def main(runs: int) -> None:
    """Measure in turn, print medians."""
    bare, firsts, wholes, singles = [], [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "solutions", folder / "submission")
        for run in range(runs):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", "import torch"], check=True)
            bare.append(time.perf_counter() - start)
            first, whole = timed([*GRADE, str(folder / "submission")], folder / f"whole-{run}.db")
            _, single = timed([*GRADE, "--exercise", "rmsnorm", str(folder / "submission")], folder / f"one-{run}.db")
            firsts.append(first)
            wholes.append(whole)
            singles.append(single)
    unit = statistics.median(bare)
    for what, values in (("first verdict", firsts), ("one whole submission", wholes), ("rmsnorm alone", singles)):
        print(f"{what}: {statistics.median(values):.2f} s, {statistics.median(values) / unit:.1f} × import torch")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
