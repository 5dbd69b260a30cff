"""`nanolm course` beside stock `nbgrader autograde` on one class of notebooks, in one run, and where the time goes.

`python benchmarks/notebooks_against_nbgrader.py [COUNT]` makes COUNT students who all hand in the solved notebooks. The
stock run starts a kernel for each notebook and executes its check cell; ours runs the same tests in workers.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(sys.executable).parent
STOCK = """\
from pathlib import Path
c = get_config()
root = Path(__file__).resolve().parent
c.CourseDirectory.root = str(root)
c.CourseDirectory.db_url = f"sqlite:///{root / 'gradebook.db'}"
c.ExecutePreprocessor.timeout = 300
"""
ASSIGNMENT = "module06"


@dataclass(frozen=True)
class Cost:
    """What a command took: on a clock, and of processors, its processes together."""

    wall: float
    cpu: float

    def __sub__(self, other: Cost) -> Cost:
        """What is left when another command's part is taken off."""
        return Cost(self.wall - other.wall, self.cpu - other.cpu)


def timed(command: list[str], folder: Path, expected: tuple[int, ...] = (0,)) -> Cost:
    """Run a command to its end."""
    usual = os.environ | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=usual, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in expected:
        raise SystemExit(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def course(folder: Path) -> Path:
    """A copy of the course, without its bank and its self-tests."""
    folder.mkdir()
    for name in ("source", "release", "exercises", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("grader_config.py", "nbgrader_config.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def handed_in(folder: Path, count: int) -> Path:
    """COUNT students with the solved notebooks, in nbgrader's layout."""
    for number in range(count):
        target = folder / f"s{number:03}" / ASSIGNMENT
        target.mkdir(parents=True)
        for path in (ROOT / "source" / ASSIGNMENT).glob("*.ipynb"):
            shutil.copy(path, target)
    return folder


def stock(folder: Path, count: int) -> Cost:
    """nbgrader as it comes, on a course prepared beforehand."""
    here = course(folder)
    (here / "nbgrader_config.py").write_text(STOCK, encoding="utf-8")
    for path in (here / "source" / ASSIGNMENT).iterdir():
        if path.suffix != ".ipynb":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    handed_in(here / "submitted", count)
    program = str(PROGRAMS / "nbgrader")
    timed([program, "generate_assignment", ASSIGNMENT, "--force"], here)
    cost = timed([program, "autograde", ASSIGNMENT], here)
    timed([program, "export"], here)
    told = (here / "grades.csv").read_text(encoding="utf-8").splitlines()
    column = told[0].split(",").index("score")
    print(f"stock nbgrader's scores: {sorted({line.split(',')[column] for line in told[1:]})}")
    return cost


def ours(folder: Path, count: int) -> dict[str, Cost]:
    """The steps of `nanolm course`, each as a command, the cost of starting it taken off."""
    here = course(folder)
    entries = handed_in(folder.parent / "class", count)
    program = [str(PROGRAMS / "nanolm"), "course"]
    last = ["--course", str(here), "--isolation", "best"]
    steps = {
        "making an empty gradebook, once": timed([*program, "grade", *last], here),
        "collecting": timed([*program, "collect", str(entries), "--course", str(here)], here),
        "verdicts in workers": timed([*program, "verdicts", *last], here),
        "nbgrader's gradebook": timed([*program, "grade", "--no-feedback", *last], here),
    }
    known = timed([*program, "verdicts", *last], here)
    with_feedback = timed([*program, "grade", *last], here)
    shutil.rmtree(here / "grading")
    whole = timed([*program, "grade", str(entries), *last], here)
    start = timed([*program, "grade", *last], here)  # everything is known and written: what is left is the start
    print(f"our scores: {sorted({line.split(',')[5] for line in _rows(here)[1:]})}")
    return {
        **steps,
        "making an empty gradebook, once": steps["making an empty gradebook, once"] - start,
        "verdicts in workers": steps["verdicts in workers"] - known,
        "nbgrader's gradebook": steps["nbgrader's gradebook"] - start,
        "feedback pages": with_feedback - steps["nbgrader's gradebook"],
        "starting (Python, torch, nbgrader)": start,
        "whole": whole,
    }


def _rows(here: Path) -> list[str]:
    return (here / "grading" / "grades.csv").read_text(encoding="utf-8-sig").splitlines()


def main(count: int) -> None:
    """Print seconds a submission of both, and the parts of ours."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = ours(folder / "ours", count)
        theirs = stock(folder / "stock", count)
    whole = parts.pop("whole")
    print(f"{count} submissions of ten notebooks")
    for what, cost in (("stock nbgrader autograde", theirs), ("nanolm course grade, feedback included", whole)):
        print(f"{what}: {cost.wall / count:.2f} s and {cost.cpu / count:.2f} CPU s a submission")
    print(f"stock / ours: {theirs.wall / whole.wall:.1f} on the clock, {theirs.cpu / whole.cpu:.1f} in CPU time")
    for what, cost in parts.items():
        print(f"  {what}: {cost.wall:.1f} s, {cost.cpu:.1f} CPU s, {cost.cpu / count:.2f} CPU s a submission")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
