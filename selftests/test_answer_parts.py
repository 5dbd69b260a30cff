"""What an answer takes from a notebook's other cells: what it uses, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.notebooks.apart import parts_of
from grader.notebooks.released import released
from grader.submissions import read_submission
from nanolm.answer_parts import parts
from nanolm.course import exercise_files
from selftests.making_notebooks import ROOT, answered, cell_of, code, solution

ANSWER = "import math\n\n\ndef area(r):\n    return PI * square(r)\n"
SQUARE = "def square(x):\n    return x * x"


def test_an_answer_that_stands_alone_is_left_as_it_is() -> None:
    found = parts("import math\nx = math.pi\n", ["y = 1", "x = 3", "math = None"])
    assert (found.before, found.answer, found.after) == ("", "import math\nx = math.pi\n", "")


def test_helpers_are_taken_in_their_order_without_what_stands_beside_them() -> None:
    cells = [
        "import matplotlib.pyplot as plt\nPI = 3\nplt.plot([PI])",
        f"{SQUARE}\n\nprint(square(4))\nwhile square(1): pass",
        "PI = 3.14",
        "unrelated = 1 / 0",
    ]
    found = parts(ANSWER, cells)
    assert found.before == f"PI = 3\n{SQUARE}\nPI = 3.14"
    scope: dict[str, object] = {}
    exec(found.text, scope)
    assert scope["area"](2) == 4 * 3.14  # type: ignore[operator]
    assert "plt" not in scope


def test_what_helpers_use_is_taken_too() -> None:
    cells = ["from functools import cache", "TABLE = {}\nTABLE['a'] = 1\nTABLE.update(b=2)\nlen(TABLE)",
             "@cache\ndef look(k):\n    return TABLE[k]"]  # fmt: skip
    found = parts("def f(k):\n    return look(k)", cells)
    assert found.before == (
        "from functools import cache\nTABLE = {}\nTABLE['a'] = 1\nTABLE.update(b=2)\n"
        "@cache\ndef look(k):\n    return TABLE[k]"
    )


def test_a_name_inside_a_function_is_not_what_another_cell_calls_so() -> None:
    answer = "def f(x, eps=1e-6):\n    y = x + eps\n    return [z for z in y]"
    assert parts(answer, ["x = 1 / 0", "y = 2", "z = 3", "eps = 4"]).before == ""


def test_a_helper_that_uses_the_answer_follows_it() -> None:
    answer = "class Norm:\n    def twin(self):\n        return Twin()"
    found = parts(answer, ["class Twin(Norm): ..."])
    assert (found.before, found.after) == ("", "class Twin(Norm): ...")


def test_an_import_that_only_the_released_cells_make_is_taken_alone() -> None:
    given = ["# Given\nimport torch\nimport numpy as np\nimport matplotlib.pyplot as plt\nplt.plot(np.ones(3))"]
    assert parts("def f(x):\n    return np.exp(x)", [], given).before == "import numpy as np"
    assert parts("import numpy as np\ndef f(x):\n    return np.exp(x)", [], given).before == ""
    assert parts("def f(x):\n    return np.exp(x)", ["import numpy as np"], given).before == "import numpy as np"


def test_a_name_that_the_cell_lacks_or_has_as_a_stub_is_taken_from_another() -> None:
    stub = 'def one():\n    raise NotImplementedError("budget: one")\n\n\ndef two():\n    return 2'
    others = [
        "def one():\n    return ONE\nONE = 1",
        "def two():\n    return 'another try'",
        "def three():\n    return 3",
    ]
    found = parts(stub, others, entries=("one", "two", "three"))
    scope: dict[str, object] = {}
    exec(found.text, scope)
    assert [scope[name]() for name in ("one", "two", "three")] == [1, 2, 3]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("cell", "left", "count"),
    [
        ("%matplotlib inline\nx = 1", "\nx = 1", 1),
        ("%%time\nx = 1", "\nx = 1", 1),
        ("%%bash\nrm -rf x", "", 1),
        ("!pip install einops\nx = 1", "\nx = 1", 1),
        ("x = 1\nx?", "x = 1\n", 1),
        ("y = !ls\nx = 1", "\nx = 1", 1),
        ("if True:\n    %time f()\nx = 1", "if True:\n    pass\nx = 1", 1),
        ("x = (7\n% 4)", "x = (7\n% 4)", 0),
        ('"""\n% a comment\n"""\nx = 1', '"""\n% a comment\n"""\nx = 1', 0),
    ],
)
def test_lines_of_ipython_are_left_out_and_python_is_kept(cell: str, left: str, count: int) -> None:
    found = parts(cell, [])
    assert (found.answer, found.magics) == (left, count)


def test_cells_that_are_no_python_are_passed_over() -> None:
    assert parts(ANSWER, ["def square(x:", "PI = 3", SQUARE]).before == f"PI = 3\n{SQUARE}"


@pytest.mark.parametrize("answer", ["def f(:", "-" * 100_000 + "1", "x" + ".a" * 100_000, "\0"])
def test_an_answer_that_cannot_be_read_stands_alone(answer: str) -> None:
    assert parts(answer, ["y = 1"]).text == answer
    assert parts_of([(answer, ["y = 1"], [], []), (ANSWER, [SQUARE], [], [])])[1].before == SQUARE


def test_a_text_that_ends_the_process_costs_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Millions of names: the process runs into its limits, the other answer is put together."""
    import grader.notebooks.apart as apart

    monkeypatch.setattr(apart, "SECONDS", 1.0)
    heavy = "\n".join(f"def f{n}(): return [{','.join(f'a{n}' for n in range(100))}]" for n in range(20_000))
    found = parts_of([(heavy, [heavy] * 4, [], []), (ANSWER, [SQUARE], [], [])])
    assert found[0].before == ""
    assert found[1].before == SQUARE


def test_a_plot_that_imports_torch_is_no_part_of_the_answer_without_torch(tmp_path: Path) -> None:
    notebook = answered("numpy_bridge", solution("numpy_bridge").replace("def silu(", "def _silu(") + "\nsilu = mine\n")
    position = notebook["cells"].index(cell_of(notebook, "numpy_bridge-answer"))
    notebook["cells"][position:position] = [
        code("def mine(z):\n    return _silu(z)"),
        code("import torch\nprint(torch.ones(3))"),
        code("%pip install torch"),
    ]
    (tmp_path / "09_numpy_bridge.ipynb").write_text(json.dumps(notebook))
    submission = read_submission(tmp_path, exercise_files(), released=released(ROOT))
    text = submission.files["numpy_bridge.py"]
    assert "torch" not in text
    assert "def mine(z):" in text
