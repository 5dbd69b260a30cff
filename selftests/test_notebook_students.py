"""The notebooks on a student's machine: the copy that students get, an environment of its own, a kernel there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.authoring.answers import answer_text
from grader.authoring.source import ASSIGNMENT
from grader.release import write_students_copy
from grader.smoke import Student

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("release") / ASSIGNMENT

RUN = """\
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], 4)
where = {"metadata": {"path": sys.argv[1].rpartition("/")[0]}}
NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True, resources=where).execute()
for cell in notebook.cells:
    for output in cell.get("outputs", ()):
        text = output.get("text") or output.get("evalue") or output.get("data", {}).get("text/plain", "")
        print(f"<{cell.id}>", output.get("name") or output.output_type, text)
"""


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Student]:
    """The copy, installed as its README says, with the packages that are here already."""
    folder = tmp_path_factory.mktemp("student")
    write_students_copy(ROOT, folder / "my copy")
    machine = Student(folder / "my copy", folder / "environment")
    machine.install(lambda text: None, reuse_packages=True)
    (machine.folder / "run.py").write_text(RUN)
    yield machine
    shutil.rmtree(folder, ignore_errors=True)


def run_all(student: Student, stem: str) -> str:
    status, output = student.run("python", "run.py", f"{FOLDER.as_posix()}/{stem}.ipynb")
    assert status == 0, output
    return output


def answer(student: Student, stem: str, text: str, *extra: str) -> None:
    """Put a text into a notebook's answer cell, and `extra` cells above it, as saving in Jupyter would."""
    path = student.folder / FOLDER / f"{stem}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    place = next(n for n, cell in enumerate(notebook["cells"]) if cell["id"].endswith("-answer"))
    notebook["cells"][place]["source"] = text
    new = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"][place:place] = [{**new, "id": f"mine-{n}", "source": cell} for n, cell in enumerate(extra)]
    path.write_text(json.dumps(notebook), encoding="utf-8")


def test_a_student_opens_a_notebook_and_is_told_what_to_write_and_then_which_mistake_it_is(student: Student) -> None:
    readme = (student.folder / "README.md").read_text(encoding="utf-8")
    assert f"jupyter lab {FOLDER.as_posix()}" in readme
    output = run_all(student, "01_rmsnorm")
    assert "Still to write: rmsnorm: keep eps and create gamma, one gain a feature" in output
    assert "<rmsnorm-check> execute_result 0.0" in output
    bank = ROOT / "mistakes" / "rejected" / "rmsnorm" / "centering.py"
    answer(student, "01_rmsnorm", bank.read_text(encoding="utf-8").replace("from __future__ import annotations\n", ""))
    output = run_all(student, "01_rmsnorm")
    assert "Mistake: rmsnorm-centering (subtracts the mean)" in output
    assert "<rmsnorm-check> execute_result 10.5" in output
    assert "<rmsnorm-given-3> display_data <IPython.core.display.Image object>" in output
    assert sorted(path.name for path in (student.folder / FOLDER).iterdir()) == sorted(
        path.name for path in (ROOT / FOLDER).glob("*.ipynb")
    )


def test_a_block_is_built_of_the_files_and_the_notebooks_that_a_student_has_written(student: Student) -> None:
    output = run_all(student, "10_block")
    assert (
        "swiglu: write SwiGLU (exercises/modules.py), pre_norm_step (exercises/block.py), block_params "
        "(exercises/budget.py), there or in the exercise's notebook; save it"
    ) in output
    shutil.copyfile(ROOT / "solutions" / "modules.py", student.folder / "exercises" / "modules.py")
    helper = "def both(a, b):\n    return a + b"
    budget = answer_text(ROOT, "budget")
    used = "return both(attention_params(cfg), ffn_params(cfg.D, cfg.F, gated=True)) + 2 * cfg.D"
    total = "return attention_params(cfg) + ffn_params(cfg.D, cfg.F, gated=True) + 2 * cfg.D"
    assert total in budget
    answer(student, "03_budget", budget.replace(total, used), helper, "raise SystemExit('an experiment of mine')")
    answer(student, "06_placement", answer_text(ROOT, "placement"))
    output = run_all(student, "10_block")
    assert "block_params: 24,672   tensors: 24,672" in output
    assert "largest entry above the diagonal: 0.0" in output
    assert "unchanged: True" in output
    assert "> error " not in output
