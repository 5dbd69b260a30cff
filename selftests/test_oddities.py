"""What looks odd is noted and costs nothing: on every honest answer of the bank, on odd ones, on the attacks."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from grader.oddities import HARMLESS, MOST, ODD, TABLE, odd_notes
from grader.submissions import read_submission
from selftests.attack_bank import read_attacks
from selftests.running_grade import ANSWERS, nanolm

ROOT = Path(__file__).resolve().parents[1]

EXAMPLES = {
    "looks inside Python's own objects": "ALL = object.__subclasses__()",
    "asks where it runs": "import os\n\nWHERE = os.environ.get('HOME')",
    "imports what no exercise needs": "import threading",
    "answers in the place of Python or torch": "class Own:\n    def __eq__(self, other):\n        return True",
    "puts a name together as it runs": 'name = "ulis"[::-1]\nf = getattr(F, "si" + "lu")',
    "treats some sizes apart": "def known(x):\n    return x.shape[-1] in (4, 5, 64)",
}


def test_every_kind_has_an_example() -> None:
    assert EXAMPLES.keys() == ODD.keys()


@pytest.mark.parametrize("kind", ODD)
def test_a_note_names_the_line(kind: str) -> None:
    found = odd_notes({"modules.py": f"import torch\n\n{EXAMPLES[kind]}\n"})
    lines = EXAMPLES[kind].splitlines()
    assert found
    for note in found:
        line = int(note.partition(" line ")[2].partition(" ")[0])
        assert note.startswith(f"modules.py line {line} {kind} (")
        assert note.endswith(HARMLESS)
        assert note.partition("(")[2].partition(")")[0].split("(")[0] in lines[line - 3]


def test_comments_and_everyday_code_have_none() -> None:
    text = "# os.environ, __subclasses__\nimport sys\n    # sys.modules\ny = getattr(module, name)\n"
    assert odd_notes({"modules.py": text}) == []


def test_neither_comments_nor_a_sign_in_a_string_hide_a_line() -> None:
    text = "# sys.modules\n" * 2000 + "'#'; import os; os.environ['X']\n"
    assert odd_notes({"modules.py": text}) == [f"modules.py line 2001 asks where it runs (os.environ). {HARMLESS}"]


def test_the_bank_of_right_answers_has_none_and_neither_have_named_mistakes() -> None:
    files = [path for folder in ("solutions", "mistakes") for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 1000
    noted = {path.name: notes for path in files if (notes := odd_notes({path.name: path.read_text("utf-8")}))}
    assert noted == {}


def test_what_no_level_stops_is_noted() -> None:
    """`docs/attacks.md` sends whoever reads the grade to these notes."""
    attacks = {attack.label: attack.text for attack in read_attacks()}
    told = ("shortcut-forged_parameters_found", "input-right_in_a_worker_only", "input-right_for_the_graders_shapes")
    assert [label for label in told if not odd_notes({"modules.py": attacks[label]})] == []


def test_many_lines_of_a_kind_are_told_a_few_times() -> None:
    found = odd_notes({"budget.py": "import pickle\n" * 50})
    assert len(found) == MOST + 1
    assert found[-1] == "budget.py has more lines like that."


def test_a_table_of_numbers_is_noted() -> None:
    row = "T = [" + ", ".join(f"{n}.25" for n in range(TABLE)) + "]\n"
    assert odd_notes({"modules.py": row}) == []
    assert f"holds a table of {TABLE + 1} numbers" in odd_notes({"modules.py": row + "x = 0.5\n"})[0]


@pytest.mark.parametrize(
    "piece", [" ", "\n", '"', '"a" ', "getattr(", 'getattr(x,"a" ', "shape in (1 ,", "sys.path ", "0.0"]
)
def test_a_hostile_text_is_read_in_a_moment(piece: str) -> None:
    text = piece * (256 * 1024 // len(piece))
    start = time.process_time()
    assert len(odd_notes({"modules.py": text})) < 30
    assert time.process_time() - start < 2, "a pattern that goes back over what it has read"


def test_a_submission_carries_them(tmp_path: Path) -> None:
    (tmp_path / "modules.py").write_text("import os\n\nos.environ['X'] = '\x1b[2J'\n", "utf-8")
    assert read_submission(tmp_path, ["modules.py"]).notes == (
        f"modules.py line 3 asks where it runs (os.environ). {HARMLESS}",
    )


def test_a_right_answer_that_looks_odd_has_its_marks_and_a_note(tmp_path: Path) -> None:
    odd = "\n".join(["", "import torch.nn.functional as F", *EXAMPLES.values(), ""])
    student = tmp_path / "looks-odd"
    student.mkdir()
    (student / "modules.py").write_text(ANSWERS["modules.py"] + odd, "utf-8")
    ran = nanolm("grade", student, "--exercise", "rmsnorm", "--isolation", "best", "--json", tmp_path / "grades.json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    grade = json.loads((tmp_path / "grades.json").read_text("utf-8"))["submissions"][0]
    assert grade["score"] == grade["max_score"] == 14
    assert {kind for kind in ODD if any(kind in note for note in grade["notes"])} == ODD.keys()
    assert "1 submission in " in ran.stdout
    assert "Something looks odd in 1 of them, at no cost: --messages shows what." in ran.stdout
    assert HARMLESS not in ran.stdout
