"""Wall time of the student's suite beside the imports that it cannot avoid; CPU time of the tests after imports."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNS = 5
IMPORTS = [sys.executable, "-c", "import torch, hypothesis, pytest"]
PYTEST = [sys.executable, "-m", "pytest", "-q", "tests"]


def wall(command: list[str]) -> float:
    """Seconds of one run of a command."""
    start = time.perf_counter()
    environment = {**os.environ, "NANOLM_IMPL": "solutions"}
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def cpu_of_the_tests() -> float:
    """CPU seconds that the tests take after collection, in a process of its own."""
    script = (
        "import time, pytest\n"
        "class Clock:\n"
        "    def pytest_collection_finish(self): self.start = time.process_time()\n"
        "    def pytest_sessionfinish(self): print('CPU', time.process_time() - self.start)\n"
        "raise SystemExit(pytest.main(['-q', 'tests'], plugins=[Clock()]))\n"
    )
    environment = {**os.environ, "NANOLM_IMPL": "solutions"}
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    match = re.search(r"CPU ([\d.]+)", run.stdout)
    assert match is not None, run.stdout
    return float(match[1])


def main() -> None:
    """Alternate the commands, so that a drift of the machine meets all of them, and print medians and ratios."""
    commands = {"imports": IMPORTS, "whole suite": PYTEST, "-k rmsnorm": [*PYTEST, "-k", "rmsnorm"]}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():
        wall(command)
    for number in range(RUNS):
        print(f"run {number + 1} of {RUNS}", file=sys.stderr)
        for name, command in commands.items():
            times[name].append(wall(command))
    for name, seconds in times.items():
        ratio = statistics.median(one / base for one, base in zip(seconds, times["imports"], strict=True))
        print(f"{name:<12} median {statistics.median(seconds):.2f} s   {ratio:.2f} × imports")
    cpu = [cpu_of_the_tests() for _ in range(RUNS)]
    print(f"CPU of the tests after imports: median {statistics.median(cpu):.3f} s")


if __name__ == "__main__":
    main()
