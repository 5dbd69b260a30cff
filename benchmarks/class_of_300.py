"""A class of full submissions drawn from the bank, graded as before a deadline: time, rate, memory, a ledger hit.

`python benchmarks/class_of_300.py [COUNT]`. Of each exercise a submission holds, at random: a right answer (58 %), one
mistake (28 %), two mistakes (3 %), nothing yet (10.8 %), or code that never ends or dies (0.2 %: five or so of 300
submissions).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from grader.bank import Specimen, read_bank
from nanolm.course import EXERCISES

ROOT = Path(__file__).resolve().parent.parent
NANOLM = [sys.executable, "-m", "nanolm.cli"]
ENDLESS = "while True:\n    pass\n"
DYING = "import os\nos.abort()\n"


def text_of(kind: str, specimens: list[Specimen], exercise: str, draw: random.Random) -> str | None:
    """One exercise's text, or None where the student has not begun."""
    if kind == "nothing":
        return None
    if kind == "broken":
        return draw.choice((ENDLESS, DYING))
    folder = {"right": "accepted", "mistake": "rejected", "two": "pairs"}[kind]
    return draw.choice([one.text for one in specimens if one.exercise == exercise and one.kind == folder])


def joined(parts: list[str]) -> str:
    """Two exercises of one file; an import from the future may stand at the top only."""
    future = "from __future__ import annotations\n"
    return future + "\n\n".join(part.replace(future, "") for part in parts)


def build(folder: Path, count: int) -> None:
    """Write the class."""
    draw, specimens = random.Random(300), read_bank(ROOT)
    kinds, weights = ("right", "mistake", "two", "nothing", "broken"), (580, 280, 30, 108, 2)
    for number in range(count):
        texts: dict[str, list[str]] = {}
        for exercise in EXERCISES.values():
            kind = draw.choices(kinds, weights)[0]
            text = text_of(kind, specimens, exercise.id, draw)
            if text is not None:
                texts.setdefault(exercise.file, []).append(text)
        home = folder / f"{number:03}"
        home.mkdir(parents=True)
        for file, parts in texts.items():
            (home / file).write_text(joined(parts), encoding="utf-8")


def resident() -> int:
    """Bytes that this process's descendants hold together; a page that forks share is counted for its part only."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_bytes().rpartition(b") ")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    total, pending = 0, [os.getpid()]
    for pid in pending:  # which grows
        pending += children.get(pid, [])
    for pid in pending[1:]:
        try:
            rows = (Path("/proc") / str(pid) / "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(row.split()[1]) * 1024 for row in rows if row.startswith("Pss:"))
    return total


def watched(command: list[str]) -> tuple[float, list[int]]:
    """Wall seconds of a command, and the memory of it and its children every second."""
    memory: list[int] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(1.0):
            memory.append(resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    return seconds, memory


def main(count: int) -> None:
    """Grade the class with full isolation and a ledger, once and once more; then at weak isolation without one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder / "class", count)
        grade = [*NANOLM, "grade", "--class", str(folder / "class"), "--isolation"]
        first, memory = watched([*grade, "best", "--ledger", str(folder / "ledger.db")])
        again, _ = watched([*grade, "best", "--ledger", str(folder / "ledger.db")])
        weak, _ = watched([*grade, "weak"])
        third = len(memory) // 3
        early, late = (max(part, default=0) / 2**20 for part in (memory[third : 2 * third], memory[2 * third :]))
        size = (folder / "ledger.db").stat().st_size / 2**20
    print(
        f"{count} submissions in {first:.1f} s, {first / count:.3f} s each (isolation best, ledger, start-up included)"
    )
    print(
        f"memory of all processes, shared pages once: {early:.0f} MiB in the middle third, {late:.0f} MiB in the last"
    )
    print(f"the same again, from the ledger ({size:.1f} MiB): {again:.1f} s, {again / first:.2f} of the first run")
    print(f"isolation weak, no ledger: {weak:.1f} s; best and a ledger cost {first / weak:.2f} times that")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
