"""Parts from elsewhere: the file before the notebook, a stub is no part, and what is missing is told at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from nanolm.notebook_pieces import pieces

STUB = 'class RMSNorm:\n    def f(self):\n        raise NotImplementedError("rmsnorm: …")\n'


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course with stubs of modules.py alone; the working directory is that of its notebooks."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "exercises"]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "tolerances.py").touch()
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "__init__.py").touch()
    (tmp_path / "exercises" / "modules.py").write_text(STUB)
    (tmp_path / "release").mkdir()
    monkeypatch.chdir(tmp_path / "release")
    return tmp_path


def save(course: Path, stem: str, *cells: str) -> None:
    """A notebook whose last cell is the answer."""
    made = [{"cell_type": "code", "metadata": {}, "source": cell} for cell in cells]
    made[-1]["metadata"] = {"nbgrader": {"grade_id": f"{stem.partition('_')[2]}-answer"}}
    (course / "release" / f"{stem}.ipynb").write_text(json.dumps({"cells": made}))


def test_a_part_comes_from_the_notebook_until_the_file_holds_it(course: Path) -> None:
    with pytest.raises(NotImplementedError, match=r"^rmsnorm: write RMSNorm \(exercises/modules\.py\), SwiGLU"):
        pieces("RMSNorm", "SwiGLU")
    save(course, "01_rmsnorm", STUB)
    with pytest.raises(NotImplementedError, match="rmsnorm: write RMSNorm"):
        pieces("RMSNorm")
    save(course, "01_rmsnorm", "raise SystemExit", "WHERE = 'notebook'\nx = 1 / 0", "class RMSNorm:\n    where = WHERE")
    assert pieces("RMSNorm").where == "notebook"
    (course / "exercises" / "modules.py").write_text("class RMSNorm:\n    where = 'file'\n")
    assert pieces("RMSNorm").where == "file"
    (course / "exercises" / "modules.py").write_text("class RMSNorm:\n    where = 'file, edited'\n")
    assert pieces("RMSNorm").where == "file, edited"
    save(course, "02_swiglu", "class SwiGLU:\n    where = 'second notebook'")
    norm, ffn = pieces("RMSNorm", "SwiGLU")
    assert (norm.where, ffn.where) == ("file, edited", "second notebook")


def test_two_parts_of_one_place_share_what_it_holds(course: Path) -> None:
    (course / "exercises" / "budget.py").write_text("mark = object()\ndef ffn_params(): return mark\n")
    with (course / "exercises" / "budget.py").open("a") as file:
        file.write("def block_params(): return mark\n")
    one, other = pieces("ffn_params", "block_params")
    assert one() is other()


def test_a_file_that_is_no_python_says_so(course: Path) -> None:
    (course / "exercises" / "modules.py").write_text("class RMSNorm(:\n")
    with pytest.raises(SyntaxError):
        pieces("RMSNorm")


def test_unknown_names_and_places_are_told(course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="no exercise asks for 'Attention'"):
        pieces("RMSNorm", "Attention")
    (course / "tests" / "tolerances.py").unlink()
    with pytest.raises(FileNotFoundError, match="inside the course's folder"):
        pieces("RMSNorm")
