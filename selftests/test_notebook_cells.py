"""What the check cell takes for the answer: the cells that were run, not the plots beside them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from nanolm.course import EXERCISES, exercise_files
from nanolm.from_scratch import check_source
from nanolm.notebook_cells import GIVEN, answer_run, bound_names, cells_run

ROOT = Path(__file__).resolve().parent.parent
NORM = "import numpy as np\n\ndef rms_norm(x):\n    return x / size(x)"
NAMES = ("rms_norm", "layer_norm")


def test_the_names_of_an_exercise_are_those_that_its_stub_defines() -> None:
    for file in exercise_files():
        text = (ROOT / "exercises" / file).read_text(encoding="utf-8")
        asked = {name for exercise in EXERCISES.values() if exercise.file == file for name in exercise.names}
        public = {name for name in bound_names(text) if not name.startswith("_")}
        assert asked <= public
        assert {name for name in public - asked if f"def {name}" in text or f"class {name}" in text} == set()


def test_a_plot_is_no_part_of_the_answer() -> None:
    plot = "import torch\nprint(rms_norm(torch.ones(3).numpy()))"
    text = answer_run([NORM, plot, "def size(x):\n    return 1.0"], NAMES)
    assert "torch" not in text
    assert "def rms_norm" in text
    assert "def size" in text


def test_of_a_helpers_cell_only_what_the_answer_uses_counts() -> None:
    helper = "import torch\ndef size(x):\n    return 1.0\nprint(torch.ones(3))"
    text = answer_run([helper, NORM], NAMES)
    assert "def size" in text
    assert "torch" not in text
    assert "import torch" in answer_run([helper.replace("1.0", "torch.ones(3)"), NORM], NAMES)


def test_given_cells_count_only_for_what_nothing_else_gives() -> None:
    given = f"{GIVEN}: a figure\nimport torch\nimport math"
    assert "torch" not in answer_run([given, NORM], NAMES)
    assert "import math" in answer_run([given, NORM.replace("size(x)", "math.pi")], NAMES)


def test_what_was_replaced_says_nothing_any_more() -> None:
    first = "from torch.nn.functional import rms_norm as theirs\ndef rms_norm(x):\n    return theirs(x)"
    old_helper = "def size(x):\n    return torch.ones(3)"
    text = answer_run([first, old_helper, NORM, "def size(x):\n    return 1.0"], NAMES)
    assert "theirs" not in text
    assert "torch" not in text


def test_of_two_definitions_the_one_that_was_run_last_counts_and_the_rest_of_its_cell_too() -> None:
    both = "def rms_norm(x):\n    return x\n\ndef layer_norm(x):\n    return x"
    text = answer_run([both, "import torch\n\ndef layer_norm(x):\n    return torch.ones(3)"], NAMES)
    assert "torch.ones" in text
    assert "def rms_norm" in text
    assert "torch" not in answer_run(["import torch\n\ndef layer_norm(x):\n    return torch.ones(3)", both], NAMES)


def test_an_answer_below_a_cell_magic_is_read() -> None:
    assert "def rms_norm" in answer_run([f"%%time\n{NORM}"], NAMES)


@pytest.mark.parametrize("cells", [[], ["x = 1"], ["def rms_norm(:"], ["%%bash\nls"], ["("]])
def test_where_no_cell_defines_a_name_there_is_no_text(cells: list[str]) -> None:
    assert answer_run(cells, NAMES) == ""


def test_cells_come_from_the_kernel_as_they_were_typed() -> None:
    raw = ["", "%time x = 1"]
    shell = SimpleNamespace(history_manager=SimpleNamespace(input_hist_raw=raw))
    assert cells_run({"In": ["", "changed"], "get_ipython": lambda: shell}) == raw
    assert cells_run({"In": ["", "x = 1"]}) == ["", "x = 1"]
    assert cells_run({}) is None


def test_bound_names_are_those_of_the_top() -> None:
    text = (
        "import a.b, c as d\nx, (y, *z) = 1, (2, 3)\nw: int = 1\nclass K:\n    q = 1\ndef f():\n    r = 1\nK.attr = 2\n"
    )
    assert bound_names(text) == {"a", "d", "x", "y", "z", "w", "K", "f"}


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_rule_finds_in_a_notebook_what_it_finds_in_the_file(exercise: str) -> None:
    """Every file of the bank as a cell, between a plot and a helper that it does not use."""
    files = sorted((ROOT / "mistakes").glob(f"*/{exercise}/*.py"))
    assert files
    plot = "import torch\nimport importlib\nclass Picture(torch.nn.RMSNorm): ...\nPicture(3)"
    for path in files:
        text = path.read_text(encoding="utf-8")
        run = answer_run([f"{GIVEN}: start\nimport torch", plot, text, plot], EXERCISES[exercise].names)
        found = [(finding.name, finding.rule) for finding in check_source(run, exercise)]
        assert found == [(finding.name, finding.rule) for finding in check_source(text, exercise)], path
    forbidden = text + "\n\nimport importlib\n"
    assert check_source(answer_run([forbidden], EXERCISES[exercise].names), exercise)
