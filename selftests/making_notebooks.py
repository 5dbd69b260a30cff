"""Builds submitted notebooks for the self-tests: the released ones with answers, and what students do to them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.bank import combine, read_bank
from nanolm.course import EXERCISES, exercise_files

ROOT = Path(__file__).resolve().parent.parent
RELEASE = ROOT / "release" / "module06"
SOURCE = ROOT / "source" / "module06"

Notebook = dict[str, Any]


def load(path: Path) -> Notebook:
    content: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return content


STUBS = {path.stem: load(path) for path in sorted(RELEASE.glob("*.ipynb"))}
SOLVED = {path.stem: load(path) for path in sorted(SOURCE.glob("*.ipynb"))}
STEM = {
    exercise: stem
    for exercise in EXERCISES
    for stem, notebook in STUBS.items()
    if any(cell["metadata"].get("nbgrader", {}).get("grade_id") == f"{exercise}-answer" for cell in notebook["cells"])
}


def text(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def cell_of(notebook: Notebook, grade_id: str) -> dict[str, Any]:
    cells: list[dict[str, Any]] = notebook["cells"]
    return next(cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)


def solution(exercise: str) -> str:
    """The reference's answer cell of an exercise, without the markers."""
    lines = text(cell_of(SOLVED[STEM[exercise]], f"{exercise}-answer")["source"]).split("\n")
    return "\n".join(line for line in lines if "### BEGIN SOLUTION" not in line and "### END SOLUTION" not in line)


def code(source: str, **more: Any) -> dict[str, Any]:
    """A student's own code cell."""
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source} | more


def answered(exercise: str, answer: str) -> Notebook:
    """The released notebook of an exercise with an answer in its cell."""
    notebook = copy.deepcopy(STUBS[STEM[exercise]])
    cell_of(notebook, f"{exercise}-answer")["source"] = answer
    return notebook


def right(exercise: str) -> Notebook:
    return answered(exercise, solution(exercise))


def banked(name: str) -> tuple[str, str]:
    """Exercise and answer cell of a specimen of the bank, `rejected/rmsnorm/centering`."""
    specimen = next(specimen for specimen in read_bank(ROOT) if specimen.name == name)
    shared = sum(exercise.file == EXERCISES[specimen.exercise].file for exercise in EXERCISES.values()) > 1
    return specimen.exercise, combine(solution(specimen.exercise), specimen) if shared else specimen.text


def right_class() -> dict[str, Notebook]:
    """All notebooks of the module, solved."""
    return {stem: copy.deepcopy(STUBS[stem]) for stem in STUBS} | {STEM[name]: right(name) for name in EXERCISES}


def write(folder: Path, notebooks: dict[str, Notebook]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for stem, notebook in notebooks.items():
        (folder / f"{stem}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return folder


def without_marks(notebook: Notebook) -> Notebook:
    """What Colab leaves: no metadata of nbgrader, other cell ids."""
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"] = {"id": f"colab{number}"}
        cell.pop("id", None)
    return notebook


def changed(notebook: Notebook, change: Callable[[Notebook], object]) -> Notebook:
    made = copy.deepcopy(notebook)
    change(made)
    return made


def texts_of_solutions() -> dict[str, str]:
    return {file: (ROOT / "solutions" / file).read_text(encoding="utf-8") for file in exercise_files()}
