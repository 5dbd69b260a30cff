"""Wall time per submission of `nanolm grade`, and beside it a plain in-process pytest run of the same submission."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLASS = 60
RUNS = 3
NANOLM = [sys.executable, "-m", "nanolm.cli"]


def seconds(command: list[str], folder: Path) -> float:
    """Wall seconds of a command that succeeds."""
    environment = {**os.environ, "NANOLM_IMPL": "exercises"}
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    """Grade a class of reference submissions, one of them, and run pytest on one, in turn."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for number in range(CLASS):
            shutil.copytree(ROOT / "solutions", scratch / "class" / f"{number:03}")
        project = scratch / "project"
        for part in ("tests", "nanolm"):
            shutil.copytree(ROOT / part, project / part)
        shutil.copytree(ROOT / "solutions", project / "exercises")
        for part in ("conftest.py", "pyproject.toml"):
            shutil.copy(ROOT / part, project)
        whole, one, plain = [], [], []
        for run in range(RUNS):
            print(f"run {run + 1} of {RUNS}", file=sys.stderr)
            whole.append(seconds([*NANOLM, "grade", "--class", str(scratch / "class")], ROOT))
            one.append(seconds([*NANOLM, "grade", str(scratch / "class" / "000")], ROOT))
            plain.append(seconds([sys.executable, "-m", "pytest", "-q", "tests"], project))
        each = [total / CLASS for total in whole]
        beyond = [(total - single) / (CLASS - 1) for total, single in zip(whole, one, strict=True)]
        print(f"class of {CLASS}: median {statistics.median(each):.3f} s a submission, start-up included")
        print(f"one more submission in a class: median {statistics.median(beyond):.3f} s")
        print(f"one submission alone: median {statistics.median(one):.2f} s")
        ratio = statistics.median(p / e for p, e in zip(plain, each, strict=True))
        print(
            f"a plain pytest run of one: median {statistics.median(plain):.2f} s, {ratio:.1f} × a submission in a class"
        )


if __name__ == "__main__":
    main()
