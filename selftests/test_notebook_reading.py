"""Submitted notebooks, every broken kind: which text is graded, and what the student is told."""

from __future__ import annotations

import copy
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from grader.notebooks.apart import SMALL
from grader.notebooks.released import Released, released
from grader.submissions import Submission, read_submission
from nanolm.course import EXERCISES, exercise_files
from selftests.making_notebooks import (
    ROOT,
    STEM,
    STUBS,
    answered,
    cell_of,
    changed,
    code,
    right,
    right_class,
    solution,
    without_marks,
    write,
)

COURSE = released(ROOT)
RMSNORM = solution("rmsnorm")
NUMPY = STEM["numpy_bridge"]


def read(path: Path, course: Released = COURSE) -> Submission:
    return read_submission(path, exercise_files(), released=course)


def reading(tmp_path: Path, *notebooks: dict[str, Any] | bytes, names: tuple[str, ...] = ("01_rmsnorm",)) -> Submission:
    for name, notebook in zip(names, notebooks, strict=True):
        data = notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode()
        (tmp_path / f"{name}.ipynb").write_bytes(data)
    return read(tmp_path)


def same_answer(submission: Submission, exercise: str = "rmsnorm") -> bool:
    """Whether the exercise's file holds exactly the answer, beside the stubs of its other exercises."""
    return solution(exercise).strip() in submission.files[EXERCISES[exercise].file]


def test_the_course_has_a_notebook_for_every_exercise() -> None:
    assert set(STEM) == set(EXERCISES)
    assert {name for one in COURSE.notebooks.values() for name in one.exercises} == set(EXERCISES)


def test_a_folder_of_notebooks_becomes_the_exercise_files(tmp_path: Path) -> None:
    submission = read(write(tmp_path, right_class()))
    assert set(submission.files) == set(exercise_files())
    assert submission.notes == ()
    assert all(same_answer(submission, name) for name in EXERCISES)


def test_one_notebook_alone_leaves_the_others_not_attempted(tmp_path: Path) -> None:
    submission = read(write(tmp_path, {STEM["swiglu"]: right("swiglu")}) / f"{STEM['swiglu']}.ipynb")
    assert list(submission.files) == ["modules.py"]
    assert same_answer(submission, "swiglu")
    assert 'NotImplementedError("rmsnorm: ' in submission.files["modules.py"]


def test_a_zip_of_notebooks_is_read_like_their_folder(tmp_path: Path) -> None:
    folder = write(tmp_path / "anna", right_class())
    with zipfile.ZipFile(tmp_path / "anna.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"homework/{path.name}")
    assert read(tmp_path / "anna.zip").digest == read(folder).digest


def test_a_students_whole_copy_holds_its_notebooks_where_it_got_them(tmp_path: Path) -> None:
    write(tmp_path / "copy" / "release" / "module06", right_class())
    (tmp_path / "copy" / "tests").mkdir()
    assert same_answer(read(tmp_path / "copy"))
    with zipfile.ZipFile(tmp_path / "copy.zip", "w") as archive:
        for path in (tmp_path / "copy" / "release" / "module06").iterdir():
            archive.write(path, f"copy/release/module06/{path.name}")
        archive.writestr("copy/tests/x.py", "")
    assert same_answer(read(tmp_path / "copy.zip"))


def test_the_text_is_the_text_of_a_py_file(tmp_path: Path) -> None:
    """The same digest: a ledger that knows one answers for the other."""
    notebooks = read(write(tmp_path / "notebooks", {STEM["budget"]: right("budget")}))
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "budget.py").write_text(solution("budget").strip("\n") + "\n", encoding="utf-8")
    assert notebooks.digest == read(tmp_path / "files").digest


def test_a_py_file_beside_a_notebook_wins_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "modules.py").write_text("x = 1\n")
    submission = reading(tmp_path, right("rmsnorm"), right("budget"), names=("01_rmsnorm", "03_budget"))
    assert submission.files["modules.py"] == "x = 1\n"
    assert same_answer(submission, "budget")
    assert any("modules.py was graded, 01_rmsnorm.ipynb was not" in note for note in submission.notes)


def _duplicate(notebook: dict[str, Any]) -> None:
    cells = notebook["cells"]
    position = cells.index(cell_of(notebook, "rmsnorm-answer"))
    cells.insert(position, copy.deepcopy(cells[position]) | {"source": "# first try\nclass RMSNorm: ..."})
    cells.append(copy.deepcopy(cell_of(STUBS["01_rmsnorm"], "rmsnorm-answer")))


def _rename(notebook: dict[str, Any]) -> None:
    cell_of(notebook, "rmsnorm-answer")["metadata"]["nbgrader"]["grade_id"] = "mine"


def _schema(version: int, notebook: dict[str, Any]) -> None:
    cell_of(notebook, "rmsnorm-answer")["metadata"]["nbgrader"]["schema_version"] = version


def _no_flags(notebook: dict[str, Any]) -> None:
    cell_of(notebook, "rmsnorm-answer")["metadata"]["nbgrader"] = {"grade_id": "rmsnorm-answer", "solution": False}


def _to_markdown(notebook: dict[str, Any]) -> None:
    cell = cell_of(notebook, "rmsnorm-answer")
    cell["cell_type"] = "markdown"
    del cell["outputs"], cell["execution_count"]


def _lines(notebook: dict[str, Any]) -> None:
    cell = cell_of(notebook, "rmsnorm-answer")
    cell["source"] = cell["source"].splitlines(keepends=True)


def _old_format(notebook: dict[str, Any]) -> None:
    for cell in notebook["cells"]:
        cell["input" if cell["cell_type"] == "code" else "source"] = cell.pop("source")
    notebook["worksheets"] = [{"cells": notebook.pop("cells")}]
    notebook["nbformat"] = 3


def _without_check(notebook: dict[str, Any]) -> None:
    notebook["cells"].remove(cell_of(notebook, "rmsnorm-check"))


ODD = {
    "one duplicated cell": (_duplicate, "3 copies of the answer cell"),
    "grade_id renamed": (_rename, ""),
    "metadata gone": (without_marks, "found by what it defines"),
    "schema version 1": (lambda notebook: _schema(1, notebook), ""),
    "schema version 99": (lambda notebook: _schema(99, notebook), ""),
    "flags off": (_no_flags, ""),
    "turned into markdown": (_to_markdown, "no code cell any more"),
    "source as lines": (_lines, ""),
    "format of 2014": (_old_format, ""),
    "check cell deleted": (_without_check, ""),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_notebook_gives_the_answer_all_the_same(tmp_path: Path, kind: str) -> None:
    change, note = ODD[kind]
    submission = reading(tmp_path, changed(right("rmsnorm"), change))
    assert same_answer(submission)
    assert note in " ".join(submission.notes)
    if not note:
        assert submission.notes == ()


@pytest.mark.parametrize(
    "name", ["01_rmsnorm (1)", "01_rmsnorm-Copy1", "Copy of 01_rmsnorm", "01_RMSNorm", "doe_4711_99_01_rmsnorm-1", "hw"]
)
def test_a_renamed_notebook_is_read_with_a_note(tmp_path: Path, name: str) -> None:
    submission = reading(tmp_path, right("rmsnorm"), names=(name,))
    assert same_answer(submission)
    assert f"{name}.ipynb was read as 01_rmsnorm.ipynb: please keep the name." in submission.notes


def test_without_marks_and_under_a_wild_name_the_names_it_defines_decide(tmp_path: Path) -> None:
    submission = reading(tmp_path, without_marks(right("qk_norm")), names=("week 6",))
    assert same_answer(submission, "qk_norm")


def test_a_notebook_that_is_none_of_ours_is_told(tmp_path: Path) -> None:
    stranger = {"cells": [code("print('hello')")], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    submission = reading(tmp_path, stranger, names=("diary",))
    assert submission.ungradable is not None
    assert "nothing tells which of the course's notebooks it is: diary.ipynb" in submission.ungradable


def test_several_notebooks_in_one_file_are_all_read(tmp_path: Path) -> None:
    merged = right("rmsnorm")
    merged["cells"] += right("budget")["cells"]
    submission = reading(tmp_path, merged, names=("everything",))
    assert same_answer(submission)
    assert same_answer(submission, "budget")


def test_an_answer_cell_that_was_deleted_is_not_attempted(tmp_path: Path) -> None:
    notebook = right("rmsnorm")
    notebook["cells"].remove(cell_of(notebook, "rmsnorm-answer"))
    submission = reading(tmp_path, notebook)
    assert 'NotImplementedError("rmsnorm: ' in submission.files["modules.py"]
    assert "01_rmsnorm.ipynb has no answer cell of rmsnorm any more." in submission.notes


UNREADABLE = {
    "empty": (b"", "01_rmsnorm.ipynb is empty"),
    "not JSON": (b"class RMSNorm: ...\n", "its JSON breaks off in line 1"),
    "truncated": (json.dumps(right("rmsnorm"), indent=1).encode()[:900], "ends in the middle (line "),
    "a web page": (b"<!DOCTYPE html>", "is not a notebook"),
    "a list": (b"[1, 2]", "it has no cells"),
    "nested": (b"[" * 200_000, "not a notebook that can be read"),
    "a key twice": (b'{"cells": [], "cells": []}', "says 'cells' twice"),
    "a huge number": (b'{"cells": ' + b"9" * 10_000 + b"}", "not a notebook that can be read"),
    "a cell of a megabyte": (
        json.dumps(answered("rmsnorm", "#" * (1 << 20))).encode(), "a cell of more than 256 KiB",
    ),
    "2001 cells": (json.dumps({"cells": [code("x")] * 2001}).encode(), "more than 2000 cells"),
    "half an UTF-16": (b"\xff\xfe" + json.dumps(right("rmsnorm")).encode("utf-16-le")[:-1], "is cut or damaged"),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_cannot_be_read_is_ungradable_with_the_reason(tmp_path: Path, kind: str) -> None:
    data, reason = UNREADABLE[kind]
    submission = reading(tmp_path, data)
    assert submission.files == {}
    assert submission.ungradable is not None
    assert reason in submission.ungradable


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_other_encodings_of_unicode_are_read_with_a_note(tmp_path: Path, encoding: str) -> None:
    data = json.dumps(right("rmsnorm"), ensure_ascii=False).encode(encoding)
    submission = reading(tmp_path, data)
    assert same_answer(submission)
    assert len(submission.notes) == 1


def test_latin_1_is_read_with_a_note_that_names_the_line(tmp_path: Path) -> None:
    notebook = right("rmsnorm")
    notebook["cells"][0]["source"] = "Grüße"
    data = json.dumps(notebook, ensure_ascii=False, indent=1).encode("latin-1", "replace")
    submission = reading(tmp_path, data)
    assert "is not UTF-8 (line 7)" in " ".join(submission.notes)
    assert "class RMSNorm" in submission.files["modules.py"]


def test_a_broken_notebook_costs_its_exercise_and_no_other(tmp_path: Path) -> None:
    notebooks = right("swiglu"), b"{", right("budget"), b"{"
    names = STEM["swiglu"], "01_rmsnorm", STEM["budget"], STEM["mhc"]
    submission = reading(tmp_path, *notebooks, names=names)
    assert same_answer(submission, "swiglu")
    assert same_answer(submission, "budget")
    assert "RuntimeError('01_rmsnorm.ipynb " in submission.files["modules.py"]
    assert 'NotImplementedError("rmsnorm' not in submission.files["modules.py"]
    assert list(submission.problems) == ["hyper_connections.py"]


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "01_rmsnorm.ipynb").symlink_to(ROOT / "source" / "module06" / "01_rmsnorm.ipynb")
    submission = read(tmp_path)
    assert submission.ungradable is not None
    assert "is a symbolic link, which is not followed" in submission.ungradable


def test_a_hundred_megabytes_of_output_cost_neither_a_mark_nor_memory(tmp_path: Path) -> None:
    import resource

    notebook = right("rmsnorm")
    output = {"output_type": "stream", "name": "stdout", "text": "x" * (100 << 20)}
    cell_of(notebook, "rmsnorm-check")["outputs"] = [output]
    (tmp_path / "01_rmsnorm.ipynb").write_text(json.dumps(notebook))
    del notebook, output
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    submission = read(tmp_path)
    assert same_answer(submission)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 << 10


def test_what_would_take_all_memory_is_ungradable(tmp_path: Path) -> None:
    data = b'{"cells": [' + b"{}," * (28 << 20)
    assert len(data) > SMALL
    submission = reading(tmp_path, data)
    assert submission.ungradable is not None
    assert "01_rmsnorm.ipynb" in submission.ungradable


def test_two_candidates_without_the_right_name_are_the_students_choice(tmp_path: Path) -> None:
    other = answered("rmsnorm", RMSNORM + "\n# again")
    names = ("01_rmsnorm (1)", "01_rmsnorm (2)")
    submission = reading(tmp_path, right("rmsnorm"), other, names=names)
    assert submission.ungradable is not None
    assert "Several notebooks could be 01_rmsnorm.ipynb" in submission.ungradable
    (tmp_path / "01_rmsnorm (2).ipynb").write_text(json.dumps(STUBS["01_rmsnorm"]))
    assert same_answer(read(tmp_path))


def test_lone_surrogates_and_nul_do_not_stop_the_reading(tmp_path: Path) -> None:
    submission = reading(tmp_path, answered("rmsnorm", RMSNORM + "\n# \ud800 \0"))
    assert "\ufffd \ufffd" in submission.files["modules.py"]
    assert submission.digest
