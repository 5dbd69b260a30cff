"""A class of notebooks as one evening brings them: right and wrong ones, broken ones, and ones that cheat.

Each kind is one student. What is expected: points an exercise (others: not attempted), None where a person has to look,
the status of the row, and a word that is told.
"""

from __future__ import annotations

import copy
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nanolm.course import EXERCISES
from selftests.making_notebooks import (
    ROOT,
    SOURCE,
    STEM,
    STUBS,
    answered,
    banked,
    cell_of,
    changed,
    code,
    right,
    right_class,
    solution,
    texts_of_solutions,
    without_marks,
    write,
)

FULL = {name: exercise.points for name, exercise in EXERCISES.items()}
RIGHT = {"rmsnorm": 14.0}
NONE = {"rmsnorm": 0.0}
FIRST = STEM["rmsnorm"]
MARK = "handed-in-script-ran"
SCRIPT = f"<script>document.title = '{MARK}'</script><img src=x onerror=\"document.title = '{MARK}'\">"


@dataclass(frozen=True)
class Kind:
    """One student: the id, how the folder is made, and what is expected."""

    student: str
    build: Callable[[Path], object]
    points: Mapping[str, float | None] = field(default_factory=dict)
    status: str = "graded"
    told: str = ""
    entry: str = ""
    """The name of the folder or archive, where it is not the id."""


def rmsnorm(
    student: str,
    notebook: dict[str, Any] | bytes,
    points: Mapping[str, float | None],
    told: str = "",
    name: str = FIRST,
    **more: Any,
) -> Kind:
    """A student who hands in the first notebook alone."""

    def build(folder: Path) -> None:
        folder.mkdir()
        data = notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode()
        (folder / f"{name}.ipynb").write_bytes(data)

    return Kind(student, build, points, told=told, **more)


def edited(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    return changed(right("rmsnorm"), change)


def files(texts: Mapping[str, str]) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        folder.mkdir()
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")

    return build


MISTAKES = {
    "centering": "rejected/rmsnorm/centering",
    "swapped": "rejected/swiglu/swapped-gate-up",
    "round-down": "rejected/budget/round-down",
}
"""Each is handed in twice: as a notebook, and as the file of the same text. Both must get the same points."""


def _mistakes() -> list[Kind]:
    kinds = []
    for student, name in MISTAKES.items():
        exercise, answer = banked(name)
        notebook = {STEM[exercise]: answered(exercise, answer)}
        kinds.append(Kind(student, lambda folder, notebook=notebook: write(folder, notebook)))  # type: ignore[misc]
        kinds.append(Kind(f"{student}-py", files({EXERCISES[exercise].file: answer})))
    return kinds


def _duplicated(notebook: dict[str, Any]) -> None:
    cells = notebook["cells"]
    position = cells.index(cell_of(notebook, "rmsnorm-answer"))
    cells.insert(position, copy.deepcopy(cell_of(STUBS[FIRST], "rmsnorm-answer")))


def _all_marks(folder: Path) -> None:
    """Four notebooks, each with marks of nbgrader's that are not what they were."""
    notebooks = {name: right(name) for name in ("rmsnorm", "swiglu", "budget", "qk_norm")}
    changes: dict[str, dict[str, object]] = {
        "rmsnorm": {"schema_version": 99}, "swiglu": {"schema_version": 1}, "budget": {"grade_id": "mine"},
        "qk_norm": {"solution": False, "grade": True, "points": 14},
    }  # fmt: skip
    for name, values in changes.items():
        cell_of(notebooks[name], f"{name}-answer")["metadata"]["nbgrader"].update(values)
    notebooks["budget"]["cells"].remove(cell_of(notebooks["budget"], "budget-check"))
    write(folder, {STEM[name]: notebook for name, notebook in notebooks.items()})


def _encodings(folder: Path) -> None:
    folder.mkdir()
    latin = right("rmsnorm")
    latin["cells"][0]["source"] = "Größe"
    (folder / f"{FIRST}.ipynb").write_bytes(json.dumps(latin, ensure_ascii=False).encode("latin-1", "replace"))
    (folder / f"{STEM['budget']}.ipynb").write_bytes(b"\xef\xbb\xbf" + json.dumps(right("budget")).encode())
    (folder / f"{STEM['qk_norm']}.ipynb").write_bytes(json.dumps(right("qk_norm")).encode("utf-16"))


def _without(grade_id: str) -> Callable[[dict[str, Any]], None]:
    return lambda notebook: notebook["cells"].remove(cell_of(notebook, grade_id))


def _loud(notebook: dict[str, Any]) -> None:
    text = "x" * (30 << 20)
    cell_of(notebook, "rmsnorm-check")["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}]


def linked(folder: Path) -> None:
    folder.mkdir()
    (folder / f"{FIRST}.ipynb").symlink_to(SOURCE / f"{FIRST}.ipynb")


def bad_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{FIRST}.ipynb", json.dumps(right("rmsnorm")))
    path.write_bytes(path.read_bytes()[:-40])


def climbing_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"../{FIRST}.ipynb", json.dumps(right("rmsnorm")))
        archive.writestr("notes.txt", "x")


WARNING = "\nimport sys\nprint('look out', file=sys.stderr)\n"

BROKEN = [
    rmsnorm("duplicated", edited(_duplicated), RIGHT, "2 copies of the answer cell"),
    Kind("marks", _all_marks, {"rmsnorm": 14.0, "swiglu": 12.0, "budget": 12.0, "qk_norm": 12.0}),
    Kind("encodings", _encodings, {"rmsnorm": 14.0, "budget": 12.0, "qk_norm": 12.0}, told="is not UTF-8 (line 1)"),
    rmsnorm("newline", right("rmsnorm"), RIGHT, entry="Doe\nJane newline"),
    rmsnorm("not-json", b"class RMSNorm: ...", {}, "JSON breaks off in line 1", status="ungradable"),
    rmsnorm("truncated", json.dumps(right("rmsnorm"), indent=1).encode()[:800], {}, "ends in the middle (line",
            status="ungradable"),
    rmsnorm("empty-file", b"", {}, "is empty", status="ungradable"),
    rmsnorm("colab", edited(without_marks), RIGHT, "found by what it defines"),
    rmsnorm("no-answer", edited(_without("rmsnorm-answer")), NONE, "no answer cell of rmsnorm any more"),
    rmsnorm("copied-name", right("rmsnorm"), RIGHT, "Not handed in", name=f"{FIRST} (1)"),
    Kind("empty-folder", Path.mkdir, {}, "ungradable", "There is no exercise file and no notebook in it"),
    Kind("linked", linked, {}, "ungradable", "is a symbolic link"),
    Kind("bad-zip", bad_zip, {}, "ungradable", "damaged or cut short", entry="bad-zip.zip"),
    Kind("climbing-zip", climbing_zip, {}, "ungradable", "unsafe paths", entry="climbing-zip.zip"),
    rmsnorm("loud", edited(_loud), RIGHT),
    rmsnorm("warns", answered("rmsnorm", solution("rmsnorm") + WARNING), RIGHT),
]  # fmt: skip

STOPS = {
    "loops": "\n    def __call__(self, x):\n        while True: pass\n",
    "exits": "\n    def __call__(self, x):\n        import os\n        os._exit(0)\n",
    "kills": "\n    def __call__(self, x):\n        import os, signal\n        os.kill(os.getpid(), signal.SIGKILL)\n",
    "crashes": "\n    def __call__(self, x):\n        import faulthandler\n        faulthandler._sigsegv()\n",
}
"""A body for a class that stops the process: only the tests it happens in are lost, the other notebook is graded."""


def _stops() -> list[Kind]:
    kinds = []
    for student, body in STOPS.items():
        answer = solution("rmsnorm") + f"\n\nclass RMSNorm(RMSNorm):{body}"
        notebooks = {FIRST: answered("rmsnorm", answer), STEM["budget"]: right("budget")}
        kinds.append(Kind(student, lambda folder, notebooks=notebooks: write(folder, notebooks),  # type: ignore[misc]
                          {"rmsnorm": 1.0, "budget": 12.0}))  # fmt: skip
    return kinds


WRONG = """
from torch import nn


class RMSNorm(nn.Module):
    def forward(self, x):
        return x * 2
"""
PATCHED = """
try:
    from IPython import get_ipython
    shell = get_ipython()
    shell.run_cell = lambda *a, **k: None
    shell.input_transformers_cleanup.append(lambda lines: ["pass"])
except Exception:
    pass
"""
SQL = """
import glob, sqlite3
for path in ["grading/gradebook.db", "../../gradebook.db", *glob.glob("/**/gradebook.db", recursive=False)]:
    try:
        db = sqlite3.connect(path)
        db.execute("UPDATE grade SET auto_score = 14, manual_score = 14")
        db.commit()
    except Exception:
        pass
"""
EQUAL = """
class Equal:
    def __eq__(self, other): return True
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
    def __float__(self): return 1.0
RMSNorm = lambda *a, **k: Equal()
"""
READING = f"""
for path in ["{SOURCE}/{FIRST}.ipynb", "source/module06/{FIRST}.ipynb", "{ROOT}/solutions/modules.py"]:
    try:
        text = open(path).read()
        import json
        cell = next(c for c in json.loads(text)["cells"] if "class RMSNorm" in "".join(c["source"]))
        exec("".join(cell["source"]))
    except Exception:
        pass
"""


def _skipping(notebook: dict[str, Any]) -> None:
    cell_of(notebook, "rmsnorm-check")["metadata"]["tags"] = ["skip-execution"]
    cell_of(notebook, "rmsnorm-check")["outputs"] = []


def _own_check(notebook: dict[str, Any]) -> None:
    check = cell_of(notebook, "rmsnorm-check")
    check["source"] = "14.0"
    check["metadata"]["nbgrader"]["points"] = 1400
    data = {"text/plain": "14.0"}
    check["outputs"] = [{"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 1}]


def _script(notebook: dict[str, Any]) -> None:
    notebook["cells"][:0] = [
        {"cell_type": "markdown", "id": "s1", "metadata": {}, "source": SCRIPT},
        {"cell_type": "raw", "id": "s2", "metadata": {"raw_mimetype": "text/html"}, "source": SCRIPT},
        code(f"print('''{SCRIPT}''')", outputs=[
            {"output_type": "display_data", "metadata": {}, "data": {"text/html": SCRIPT}},
            {"output_type": "stream", "name": "stdout", "text": SCRIPT}]),
    ]  # fmt: skip
    links = f"[look](javascript:document.title='{MARK}') $\\href{{javascript:document.title='{MARK}'}}{{x}}$"
    cell_of(notebook, "rmsnorm-question")["source"] = f"{SCRIPT}\n\n{links}\n\n```\n</pre>{SCRIPT}"


def cheat(student: str, change: Callable[[dict[str, Any]], object], answer: str = WRONG, **more: Any) -> Kind:
    return rmsnorm(student, changed(answered("rmsnorm", answer), change), NONE, **more)


def _nothing(notebook: dict[str, Any]) -> None:
    """Leave the notebook as it is."""


CHEATS = [
    cheat("skips", _skipping),
    cheat("own-check", _own_check),
    cheat("sql", _nothing, WRONG + SQL),
    cheat("patches", _nothing, WRONG + PATCHED),
    cheat("equal", _nothing, EQUAL),
    cheat("reads-source", _nothing, READING),
    cheat("script", _script, WRONG, status="for review"),
    cheat("says-so", _nothing, f"{WRONG}\nraise ValueError({SCRIPT!r})"),
]

KINDS = [
    Kind("reference", lambda folder: write(folder, right_class()), FULL),
    Kind("reference-py", files(texts_of_solutions()), FULL),
    Kind("stub", lambda folder: write(folder, STUBS), {}, told="Nothing was attempted"),
    *_mistakes(), *BROKEN, *_stops(), *CHEATS,
]  # fmt: skip


def build(folder: Path) -> None:
    """The class as folders and archives."""
    folder.mkdir(parents=True)
    for kind in KINDS:
        kind.build(folder / (kind.entry or kind.student))
