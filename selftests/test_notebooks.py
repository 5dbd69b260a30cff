"""The notebooks as files: current, the same bytes every time, as agreed cell by cell, and what an author is told."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from grader import sync
from grader.authoring.answers import AuthoringError, answer_text, notes_text, question_text
from grader.authoring.build import differences, write
from grader.authoring.source import ASSIGNMENT, QUESTION_POINTS, source_notebooks
from grader.leaks import Secrets
from nanolm.cli import main
from nanolm.course import EXERCISES, exercise_files
from nanolm.notebook_cells import GIVEN

ROOT = Path(__file__).resolve().parent.parent
STEMS = (
    "01_rmsnorm", "02_swiglu", "03_budget", "04_qk_norm", "05_mhc", "06_placement", "07_gpt_oss", "08_elementwise",
    "09_numpy_bridge", "10_block",
)  # fmt: skip
SMALL = ("solutions", "exercises", "tests", "docs/exercises", "source/answers", "source/texts")


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course with one text, whose notebooks are not made yet."""
    for name in SMALL:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "grader_config.py", tmp_path / "grader_config.py")
    for path in (tmp_path / "source" / "texts").glob("*.py"):
        if path.stem != "01_rmsnorm":
            path.unlink()
    return tmp_path


@cache
def notebook(kind: str, stem: str) -> dict[str, Any]:
    text = (ROOT / kind / ASSIGNMENT / f"{stem}.ipynb").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def cells(kind: str, stem: str) -> dict[str, dict[str, Any]]:
    """The cells by id, sources as one text."""
    return {cell["id"]: {**cell, "source": "".join(cell["source"])} for cell in notebook(kind, stem)["cells"]}


def marks(cell: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = cell["metadata"].get("nbgrader", {})
    return found


# --- as files --------------------------------------------------------------------------------------------------------


def test_the_committed_notebooks_are_what_their_texts_make() -> None:
    assert differences(ROOT) == []
    for kind in ("source", "release"):
        assert sorted(path.stem for path in (ROOT / kind / ASSIGNMENT).glob("*")) == sorted(STEMS)


def test_nbgraders_own_command_makes_the_same_bytes(tmp_path: Path) -> None:
    """`nbgrader generate_assignment` as an instructor types it, on the committed source."""
    shutil.copytree(ROOT / "source" / ASSIGNMENT, tmp_path / "source" / ASSIGNMENT)
    shutil.copytree(ROOT / "source" / "texts", tmp_path / "source" / "texts")
    for name in ("grader_config.py", "nbgrader_config.py"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", ASSIGNMENT]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "grading" / "gradebook.db").is_file()
    made = sorted((tmp_path / "release" / ASSIGNMENT).iterdir())
    assert [path.stem for path in made] == sorted(STEMS)
    for path in made:
        assert path.read_bytes() == (ROOT / "release" / ASSIGNMENT / path.name).read_bytes(), path.name


# --- cell by cell ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exercise", EXERCISES)
def test_each_exercise_has_its_answer_check_and_question(exercise: str) -> None:
    stem = next(stem for stem in STEMS if stem.partition("_")[2] == exercise)
    source, release = cells("source", stem), cells("release", stem)
    assert list(source) == list(release)
    for made in (source, release):
        answer, check, question = (made[f"{exercise}-{part}"] for part in ("answer", "check", "question"))
        assert (answer["cell_type"], check["cell_type"], question["cell_type"]) == ("code", "code", "markdown")
        shape = [(m["solution"], m["grade"], m["locked"]) for m in map(marks, (answer, check, question))]
        assert shape == [(True, False, False), (False, True, True), (True, True, False)]
        assert marks(check)["points"] == EXERCISES[exercise].points
        assert marks(question)["points"] == QUESTION_POINTS
        assert check["source"] == f'from nanolm.notebook import check\n\ncheck("{exercise}", globals())'
        points = sum(marks(cell).get("points", 0) for cell in made.values())
        assert points == EXERCISES[exercise].points + QUESTION_POINTS
    assert release[f"{exercise}-question"]["source"] == "*Write your answer here.*"
    assert source[f"{exercise}-question"]["source"] in " ".join(
        (ROOT / "source" / "answers" / f"{exercise}.md").read_text(encoding="utf-8").split()
    )


@pytest.mark.parametrize("stem", STEMS)
def test_a_released_notebook_is_locked_but_for_answers_and_holds_no_output(stem: str) -> None:
    for cell_id, cell in cells("release", stem).items():
        code = cell["cell_type"] == "code"
        if code and not cell_id.endswith("-answer"):
            assert marks(cell)["locked"], cell_id
            assert cell["metadata"]["editable"] is False, cell_id
            assert cell["source"].startswith(GIVEN) or cell_id.endswith("-check"), cell_id
        if marks(cell):
            assert marks(cell)["grade_id"] == cell_id
        assert not cell.get("outputs")
        assert not cell.get("execution_count")
        assert "SOLUTION" not in cell["source"]


@pytest.mark.parametrize("file", exercise_files())
def test_the_answer_cells_of_a_file_are_the_file(file: str) -> None:
    """Stub for stub and solution for solution, in course order, with the given file imported by its full name."""
    parts = [exercise.id for exercise in EXERCISES.values() if exercise.file == file]
    for kind, folder in (("source", "solutions"), ("release", "exercises")):
        texts = [cells(kind, stem)[f"{part}-answer"]["source"] for part in parts for stem in STEMS if part in stem]
        joined = "\n\n\n".join(texts)
        whole = (ROOT / folder / file).read_text(encoding="utf-8")
        assert sync.surface(joined) == sync.surface(whole)
        # Only the docstring, the future import and the dot before `config` are a file's own.
        body = [node for node in ast.parse(whole).body[1:] if getattr(node, "module", "") != "__future__"]
        theirs = [ast.unparse(node).replace("from .", "from exercises.") for node in body]
        ours = list(dict.fromkeys(ast.unparse(node) for node in ast.parse(joined).body))
        assert ours == theirs


def test_nothing_secret_is_in_the_release() -> None:
    secrets = Secrets(ROOT)
    for stem in STEMS:
        name = f"release/{ASSIGNMENT}/{stem}.ipynb"
        assert secrets.leak(name, (ROOT / name).read_bytes()) is None
        solved = f"source/{ASSIGNMENT}/{stem}.ipynb"
        if stem != "10_block":
            assert secrets.leak(solved, (ROOT / solved).read_bytes()) is not None, "the scan sees a solved notebook"
    answers = [notes_text(ROOT, e, n) for e in EXERCISES for n in range(1, 5)]
    for stem in STEMS:
        told = " ".join("".join(cell["source"]) for cell in notebook("release", stem)["cells"])
        assert not [answer for answer in answers if answer in told]


# --- what the prose says ---------------------------------------------------------------------------------------------

RMS = "(sum(v * v for v in x) / len(x)) ** 0.5"
NUMBERS = [
    ("01_rmsnorm", "1.8708", f"x = (2, -1, 3, 0)\nr = {RMS}"),
    ("01_rmsnorm", "(1.069, -0.535, 1.604, 0)", f"x = (2, -1, 3, 0)\nr = tuple(round(v / {RMS}, 3) for v in x)"),
    ("01_rmsnorm", "707.1", "r = 1 / 2e-6**0.5"),
    ("01_rmsnorm", "301.5", "r = 1 / 1.1e-5**0.5"),
    ("02_swiglu", "5.28", "r = 3 * 2 / (1 + math.exp(-2))"),
    ("02_swiglu", "-0.72", "r = 3 * -2 / (1 + math.exp(2))"),
    ("02_swiglu", "0.881", "r = 1 / (1 + math.exp(-2))"),
    ("03_budget", "10922.67", "r = 8 * 4096 / 3"),
    ("03_budget", "42.67", "r = 8 * 4096 / 3 / 256"),
    ("03_budget", "11008", "r = 43 * 256"),
    ("03_budget", "33,554,432", "r = 2 * 4096 * 32 * 128"),
    ("03_budget", "8,388,608", "r = 2 * 4096 * 8 * 128"),
    ("03_budget", "176,160,768", "r = 3 * 4096 * 14336"),
    ("03_budget", "218,112,000", "r = 2 * 4096 * 40 * 128 + 3 * 4096 * 14336 + 2 * 4096"),
    ("03_budget", "1,050,673,152", "r = 2 * 128256 * 4096"),
    ("03_budget", "8,030,261,248", "r = 32 * 218112000 + 2 * 128256 * 4096 + 4096"),
    ("03_budget", "38.6 of", "r = 50257 * 768 / 1e6"),
    ("04_qk_norm", "(0.04, 0.28)", "r = (1 / 25, 7 / 25)"),
    ("04_qk_norm", "(0.28, 1.96)", "r = (7 / 25, 49 / 25)"),
    ("04_qk_norm", "1225", "r = (49 + 2401) / 2"),
    ("04_qk_norm", "625", "r = (1 + 49 + 49 + 2401) / 4"),
    ("04_qk_norm", "1.523", "r = 2 * math.tanh(1)"),
    ("05_mhc", "4428", "r = 1.3**32"),
    ("05_mhc", "0.933", "r = 0.6 + 1 / 3"),
    ("05_mhc", "1.067", "r = 0.4 + 2 / 3"),
    ("06_placement", "**366**", "r = 16 + 7 * (3 * 16 + 2)"),
    ("06_placement", "**314**", "r = 3 * (13 + 91) + 2"),
    ("06_placement", "51 for", "r = 1 + 15 + 7 * (3 * 1 + 2)"),
    ("06_placement", "0.034", "r = 0.9**32"),
    ("07_gpt_oss", "55.9996", "r = 7 / (1 + math.exp(-1.702 * 7)) * 8"),
    ("07_gpt_oss", "6.99995", "r = 7 / (1 + math.exp(-1.702 * 7))"),
    ("07_gpt_oss", "-15.3", "r = -9 * 1.702"),
    ("08_elementwise", "0.762", "r = math.tanh(1)"),
    ("08_elementwise", "0.707", "r = 2 / 8**0.5"),
    ("08_elementwise", "0.04996", "r = math.tanh(0.05)"),
    ("08_elementwise", "0.04994", "r = 0.1 / 4.01**0.5"),
    ("08_elementwise", "53.6", "r = math.exp(4) - 1"),
    ("08_elementwise", "3.9815", "r = math.log(math.exp(4) - 1)"),
    ("09_numpy_bridge", "1.5811", "r = 2.5**0.5"),
    ("09_numpy_bridge", "(0.632, -1.265, 1.265, -0.632)", "r = tuple(round(v / 2.5**0.5, 3) for v in (1, -2, 2, -1))"),
    ("09_numpy_bridge", "0.841344746", "r = math.erfc(-(0.5**0.5)) / 2"),
    ("09_numpy_bridge", "0.841192", "r = (1 + math.tanh((2 / math.pi) ** 0.5 * 1.044715)) / 2"),
    ("09_numpy_bridge", "0.845796", "r = 1 / (1 + math.exp(-1.702))"),
    ("10_block", "6,144", "r = 2 * 48 * 8 * (6 + 2)"),
    ("10_block", "18,432", "r = 3 * 48 * 128"),
]
"""Notebook, what it says, and how it comes about."""


@pytest.mark.parametrize(("stem", "said", "how"), NUMBERS)
def test_the_numbers_of_the_prose_come_out(stem: str, said: str, how: str) -> None:
    prose = [cell["source"] for cell in cells("release", stem).values() if cell["cell_type"] == "markdown"]
    assert any(said in " ".join(text.split()) for text in prose)
    names: dict[str, Any] = {}
    exec(f"import math\n{how}", names)
    numbers = re.findall(r"-?\d[\d,]*\.?\d*", said.replace(", ", " "))
    result = names["r"] if isinstance(names["r"], tuple) else (names["r"],)
    assert len(numbers) == len(result)
    for number, value in zip(numbers, result, strict=True):
        decimals = len(number.partition(".")[2])
        assert float(number.replace(",", "")) == pytest.approx(value, abs=0.51 * 10**-decimals), said


# --- an author's mistakes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('answer="rmsnorm"', 'answer="rmsnrom"', "unknown exercise 'rmsnrom': there are rmsnorm"),
        ("# Given: what squaring", "# What squaring", "given code begins with '# Given', not with '# What squaring"),
        ('question="rmsnorm 1"', 'question="rmsnorm 99"', r"rmsnorm\.md has no item 99"),
        ('question="rmsnorm 1"', 'question="rmsnorm one"', "a question is named like 'rmsnorm 2', not 'rmsnorm one'"),
    ],
)
def test_a_text_that_makes_no_notebook_says_why(course: Path, old: str, new: str, said: str) -> None:
    path = course / "source" / "texts" / "01_rmsnorm.py"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(AuthoringError, match=r"source/texts/01_rmsnorm\.py: ") as raised:
        source_notebooks(course)
    assert re.search(said, str(raised.value))
    assert not (course / "source" / ASSIGNMENT).exists()


def test_a_course_without_texts_or_regions_says_so(course: Path) -> None:
    (course / "source" / "texts" / "01_rmsnorm.py").unlink()
    with pytest.raises(AuthoringError, match="no text in source/texts/"):
        source_notebooks(course)
    solution = course / "solutions" / "gpt_oss.py"
    solution.write_text(solution.read_text(encoding="utf-8").replace("SOLUTION gpt_oss:", "SOLUTION swiglu:"))
    with pytest.raises(AuthoringError, match=r"solutions/gpt_oss\.py has no region of gpt_oss"):
        answer_text(course, "gpt_oss")


def test_a_change_of_text_or_solution_is_seen_and_written(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"source/{ASSIGNMENT}/01_rmsnorm.ipynb", f"release/{ASSIGNMENT}/01_rmsnorm.ipynb"]
    assert write(course) == names
    assert main(["notebooks", "--check", "--course", str(course)]) == 0
    assert "hold the notebooks that their texts make" in capsys.readouterr().out
    solution = course / "solutions" / "modules.py"
    solution.write_text(solution.read_text(encoding="utf-8").replace("self.eps = eps", "self.eps = float(eps)"))
    (course / "release" / ASSIGNMENT / "old.ipynb").write_text("{}")
    assert main(["notebooks", "--check", "--course", str(course)]) == 1
    said = capsys.readouterr().out
    assert f"PROBLEM  {names[0]} is not what its text makes" in said
    assert names[1] not in said, "a solution's line changes nothing for students"
    assert main(["notebooks", "--course", str(course)]) == 0
    assert sorted(path.name for path in (course / "release" / ASSIGNMENT).iterdir()) == ["01_rmsnorm.ipynb"]
    (course / "source" / "texts" / "01_rmsnorm.py").unlink()
    assert main(["notebooks", "--course", str(course)]) == 1
    assert "no text in source/texts/" in capsys.readouterr().err


def test_a_folder_without_a_course_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["notebooks", "--course", str(tmp_path)]) == 4
    assert "holds no course" in capsys.readouterr().err


def test_without_nbgrader_the_command_says_what_to_install() -> None:
    code = "import sys; sys.modules['nbgrader'] = None; from nanolm.cli import main; sys.exit(main(['notebooks']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 4, done.stderr
    assert "the notebooks need nbgrader, which is not installed: run `make setup`" in done.stderr


def test_questions_and_notes_belong_together() -> None:
    for exercise in EXERCISES:
        question = question_text(ROOT, exercise, 1)
        assert question.endswith(("?", "."))
        assert "(the course" not in question
        assert notes_text(ROOT, exercise, 1).startswith("**")
