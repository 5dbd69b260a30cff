"""Notebooks that hide, split or overload an answer: the text that is graded is still what the student's cells say."""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import Any

import pytest

from grader.notebooks.rebuilding import rebuild
from grader.notebooks.released import released
from grader.submissions import Submission, read_submission
from nanolm.answer_parts import parts
from nanolm.course import exercise_files
from nanolm.one_file import one_file
from selftests.making_notebooks import ROOT, STEM, answered, cell_of, code, right, solution

COURSE = released(ROOT)


def reading(folder: Path, **notebooks: dict[str, Any]) -> Submission:
    for exercise, notebook in notebooks.items():
        (folder / f"{STEM[exercise]}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return read_submission(folder, exercise_files(), released=COURSE)


def halves(exercise: str, before: str) -> dict[str, Any]:
    """A notebook whose answer cell was split before a line, as JupyterLab does it: both halves keep the mark."""
    source = solution(exercise)
    at = source.index(before)
    notebook = answered(exercise, source[:at])
    cell = cell_of(notebook, f"{exercise}-answer")
    position = notebook["cells"].index(cell)
    notebook["cells"].insert(position + 1, copy.deepcopy(cell) | {"id": "second-half", "source": source[at:]})
    return notebook


def ran(submission: Submission, file: str) -> dict[str, Any]:
    """The names that a file's text gives, for texts of ours."""
    names: dict[str, Any] = {"__name__": "exercises.made", "__package__": "exercises"}
    exec(compile(submission.files[file], file, "exec", dont_inherit=True), names)
    return names


def test_a_split_answer_cell_is_one_answer(tmp_path: Path) -> None:
    submission = reading(tmp_path, placement=halves("placement", "def peri_norm_step"))
    names = ran(submission, "block.py")
    x = 2.0
    assert names["pre_norm_step"](x, abs, abs, abs, abs) == 8.0
    assert names["peri_norm_step"](x, abs, abs, abs, abs, abs, abs) == 8.0
    assert any("2 copies of the answer cell" in note for note in submission.notes)


def test_an_experiment_split_off_the_answer_does_not_replace_it(tmp_path: Path) -> None:
    notebook = right("rmsnorm")
    cell = cell_of(notebook, "rmsnorm-answer")
    position = notebook["cells"].index(cell)
    notebook["cells"].insert(position + 1, copy.deepcopy(cell) | {"id": "tail", "source": "print(RMSNorm(4))"})
    submission = reading(tmp_path, rmsnorm=notebook)
    assert solution("rmsnorm").strip() in submission.files["modules.py"]
    assert "print(RMSNorm(4))" not in submission.files["modules.py"]


def test_what_counts_of_a_split_cell_is_shown(tmp_path: Path) -> None:
    submission = reading(tmp_path, placement=halves("placement", "def peri_norm_step"))
    stem = STEM["placement"]
    shown = rebuild(COURSE.notebooks[stem], submission.notebooks.notebooks[stem])
    texts = "\n".join(cell["source"] for cell in shown["cells"] if cell["cell_type"] == "code")
    assert texts.count("def pre_norm_step") == texts.count("def peri_norm_step") == 1


@pytest.mark.parametrize(
    "patch", ["RMSNorm.forward = lambda self, x: x", "class RMSNorm: ...", "RMSNorm = print", "def RMSNorm(d): ..."]
)
def test_a_cell_that_changes_the_answer_is_told(tmp_path: Path, patch: str) -> None:
    """The check cell has seen the changed one."""
    notebook = right("rmsnorm")
    notebook["cells"].append(code(patch))
    submission = reading(tmp_path, rmsnorm=notebook)
    assert patch not in submission.files["modules.py"]
    assert any("RMSNorm" in note and "only the answer cell counts" in note for note in submission.notes)


def test_a_cell_that_uses_the_answer_is_not_told(tmp_path: Path) -> None:
    notebook = right("rmsnorm")
    notebook["cells"].append(code("norm = RMSNorm(4)\nRMSNorm == norm\nRMSNorm(4).gamma"))
    assert reading(tmp_path, rmsnorm=notebook).notes == ()


@pytest.mark.parametrize(
    ("head", "left"),
    [
        ("from __future__ import annotations; x = 1", "x = 1"),
        ("from __future__ import annotations  # lazily\nx = 1", "x = 1"),
        ("from __future__ import (\n    annotations,\n)\nx = 1", "x = 1"),
        ("from __future__ import \\\n    annotations\nx = 1", "x = 1"),
        ('# a line\n\n"""What it is."""\n\nfrom __future__ import annotations\nx = 1', "x = 1"),
    ],
)
def test_an_import_from_the_future_moves_to_the_top_whole(head: str, left: str) -> None:
    text = one_file(["y = 2", head])
    names: dict[str, Any] = {}
    exec(compile(text, "made", "exec", dont_inherit=True), names)
    assert (names["x"], names["y"]) == (1, 2)
    assert left in text


@pytest.mark.parametrize(
    "own", ["from __future__ import annotations", "from __future__ import annotations as _; x = 1"]
)
def test_the_future_holds_for_later_cells_as_in_a_kernel(own: str) -> None:
    found = parts(
        "class A:\n    def __add__(self, other: A) -> A: return helper(other)", [own, "def helper(a): return a"]
    )
    names: dict[str, Any] = {}
    exec(compile(one_file(["z = 3", found.text]), "made", "exec", dont_inherit=True), names)
    assert names["A"]() + 5 == 5


def test_an_answers_own_future_stands_before_its_helpers() -> None:
    found = parts("from __future__ import annotations\ndef f(): return helper()", ["def helper(): return 7"])
    names: dict[str, Any] = {}
    exec(compile(found.text, "made", "exec", dont_inherit=True), names)
    assert names["f"]() == 7


def test_words_about_the_future_inside_a_text_stay() -> None:
    quoted = 'x = 1\nHELP = """\nfrom __future__ import annotations\n"""'
    names: dict[str, Any] = {}
    exec(compile(one_file([quoted, "y = 2"]), "made", "exec", dont_inherit=True), names)
    assert names["HELP"] == "\nfrom __future__ import annotations\n"


def test_names_of_a_page_or_by_the_thousand_make_no_page_of_notes(tmp_path: Path) -> None:
    long = "n" * 100_000
    many = "".join(f"h{number} = {{}}\n" for number in range(3000))
    made = {
        exercise: answered(exercise, solution(exercise) + "\n" + f"{long} = {value}\n" + many.replace("{}", value))
        for exercise, value in (("rmsnorm", "1"), ("swiglu", "2"))
    }
    submission = reading(tmp_path, **made)
    assert "modules.py" in submission.files
    assert any("the second one counts for both" in note for note in submission.notes)
    assert sum(map(len, submission.notes)) < 4000


def test_a_line_of_blanks_takes_no_time() -> None:
    started = time.process_time()
    found = parts(" " * 60_000 + ")\nx = 1", ["y = 1"])
    assert found.answer.endswith("x = 1")
    assert time.process_time() - started < 1.0


OPERATORS = (
    'def f(a, b):\n    text = (\n        "%d"\n        % a\n    )\n    return (\n        text\n        != b\n    )'
)


@pytest.mark.parametrize("magic", ["%timeit f(1, 2)", "!ls", "%%time", "f?", "out = !ls"])
def test_an_operator_that_begins_a_line_is_no_magic(magic: str) -> None:
    found = parts(f"{magic}\n{OPERATORS}", [])
    names: dict[str, Any] = {}
    exec(compile(found.text, "made", "exec", dont_inherit=True), names)
    assert names["f"](1, "1") is False
    assert found.magics == 1
