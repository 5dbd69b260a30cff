"""`nanolm grade` beside stock `nbgrader autograde` and a plain pytest run, on the same answers, in one run.

`python benchmarks/stock_nbgrader.py [COUNT]` installs nbgrader into a throw-away environment (the first minutes of it).
The notebooks hold the reference's cells and one test cell an exercise, which runs that exercise's graded tests.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from nanolm.course import EXERCISES

ROOT = Path(__file__).resolve().parent.parent
PINNED = ("nbgrader==0.9.6", "ipykernel==7.4.0")
TEST = """\
from pathlib import Path
from nanolm.notebook import check
assert check({exercise!r}, globals(), root=Path({root!r}))
"""

ALONE = "numpy_bridge.py"
"""The exercise whose notebook must not import torch."""


def cell(source: str, grade_id: str, *, points: float | None = None) -> dict[str, object]:
    """A code cell: an answer, or with points a test."""
    marks = {"grade": points is not None, "solution": points is None, "locked": points is not None, "task": False}
    if points is not None:
        marks["points"] = points
    metadata = {"nbgrader": {**marks, "grade_id": grade_id, "schema_version": 3}}
    return {
        "cell_type": "code", "execution_count": None, "id": grade_id, "metadata": metadata, "outputs": [],
        "source": source,
    }  # fmt: skip


def notebook(files: list[str]) -> dict[str, object]:
    """A notebook with the answers of some files and a test cell for each of their exercises."""
    cells = []
    for file in files:
        text = (ROOT / "solutions" / file).read_text(encoding="utf-8")
        text = re.sub(r"^from \.", "from exercises.", text, flags=re.MULTILINE)
        text = re.sub(r"^ *### (BEGIN|END) SOLUTION.*\n", "", text, flags=re.MULTILINE)
        cells.append(cell(text, f"answer-{Path(file).stem}"))
        for exercise in (one for one in EXERCISES.values() if one.file == file):
            test = TEST.format(exercise=exercise.id, root=str(ROOT))
            cells.append(cell(test, f"test-{exercise.id}", points=exercise.points))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def environment(folder: Path) -> Path:
    """An environment with nbgrader that sees this one's packages too; returns its folder of programs."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", *PINNED], check=True)
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([programs / "python", "-c", asked], check=True, capture_output=True, text=True).stdout.strip()
    seen = [str(ROOT), *(entry for entry in sys.path if entry.endswith("site-packages"))]
    (Path(site) / "ours.pth").write_text("\n".join(seen) + "\n", encoding="utf-8")
    return programs


def timed(command: list[str], folder: Path, **variables: str) -> float:
    """Wall seconds of a command that succeeds."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return time.perf_counter() - start


def main(count: int) -> None:
    """Grade `count` reference submissions each way."""
    notebooks = {
        "block": notebook([file for file in dict.fromkeys(e.file for e in EXERCISES.values()) if file != ALONE]),
        "numpy": notebook([ALONE]),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("installing nbgrader …", file=sys.stderr)
        programs = environment(folder / "environment")
        course = folder / "course"
        for number in range(count):
            shutil.copytree(
                ROOT / "solutions", folder / "class" / f"{number:03}", ignore=shutil.ignore_patterns("__pycache__")
            )
        for place in ("source/module06", *(f"submitted/{number:03}/module06" for number in range(count))):
            (course / place).mkdir(parents=True)
            for stem, content in notebooks.items():
                (course / place / f"{stem}.ipynb").write_text(json.dumps(content), encoding="utf-8")
        usual = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "JUPYTER_PLATFORM_DIRS": "1"}
        nbgrader = [str(programs / "nbgrader")]
        timed([*nbgrader, "generate_assignment", "module06", "--force"], course, **usual)
        limit = "--ExecutePreprocessor.timeout=300"
        stock = timed([*nbgrader, "autograde", "module06", limit], course, **usual)
        score = timed([*nbgrader, "export"], course, **usual) and (course / "grades.csv").read_text(encoding="utf-8")
        ours = timed(
            [sys.executable, "-m", "nanolm.cli", "grade", "--class", str(folder / "class"), "--isolation", "best"], ROOT
        )
        plain = timed([sys.executable, "-m", "pytest", "-q", "tests"], ROOT, NANOLM_IMPL="solutions")
    rows = [line.split(",") for line in score.splitlines()]
    column = rows[0].index("score")
    print(f"{count} submissions; nbgrader's scores: {sorted({row[column] for row in rows[1:]})}")
    for what, seconds in (("stock nbgrader autograde", stock), ("a plain pytest run each", plain * count)):
        print(f"{what}: {seconds:.1f} s, {seconds / ours:.1f} times nanolm grade ({ours:.1f} s)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
