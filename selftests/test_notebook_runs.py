"""The notebooks as they run: solved ones from end to end under nbgrader's validate, released ones fail it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell
from nbgrader.validator import Validator

from grader.authoring.source import ASSIGNMENT

ROOT = Path(__file__).resolve().parent.parent
SOLVED, RELEASED = (sorted((ROOT / kind / ASSIGNMENT).glob("*.ipynb")) for kind in ("source", "release"))
TOLD = "Still to write: "


@pytest.fixture(autouse=True)
def _no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels keep their hypothesis files out of the notebooks' folders by themselves; a variable would hide that."""
    monkeypatch.delenv("HYPOTHESIS_STORAGE_DIRECTORY", raising=False)
    monkeypatch.delenv("NANOLM_IMPL", raising=False)


@pytest.mark.parametrize("path", SOLVED, ids=lambda path: path.stem)
def test_a_solved_notebook_runs_from_end_to_end(path: Path) -> None:
    """Every code cell, given ones too: no error, nothing on stderr, and all points where there are any."""
    validator = Validator()
    validator.validate_all = True
    validator.log.setLevel(logging.ERROR)
    found = validator.validate(str(path))
    assert found == {}, [failure["raw_error"][-2000:] for failure in found.get("failed", [])]
    assert sorted(entry.name for entry in path.parent.iterdir() if entry.is_file()) == [other.name for other in SOLVED]


def validated(*paths: Path) -> str:
    """What `nbgrader validate` prints, as a student or an instructor runs it."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, "-m", "nbgrader", "validate", *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nbgrader_validate_passes_solved_and_fails_released_notebooks() -> None:
    assert validated(*SOLVED[1:3]).count("Success! Your notebook passes all the tests.") == 2
    said = validated(*RELEASED[1:3])
    assert said.count("VALIDATION FAILED ON 2 CELL(S)") == 2, "the check and the written answer"
    assert said.count("Partial credit; passed some but not all of the tests") == 2
    assert said.count("You did not provide a response.") == 2
    assert "Success" not in said


# --- in a kernel -----------------------------------------------------------------------------------------------------


class Kernel:
    """A notebook's kernel in the folder of the released notebooks."""

    def __init__(self, client: NotebookClient) -> None:
        self._client = client

    def run(self, source: str) -> str:
        """Run a cell; returns all that it printed, its value and its error."""
        cell = new_code_cell(source)
        self._client.nb.cells.append(cell)
        self._client.execute_cell(cell, len(self._client.nb.cells) - 1)
        return "\n".join(map(shown, cell.outputs))


def shown(output: Any) -> str:
    if output.output_type == "stream":
        return f"{'' if output.name == 'stdout' else '[stderr] '}{output.text}"
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return f"{sorted(output.data)} {output.data.get('text/plain', '')}"


@pytest.fixture(scope="module")
def kernel() -> Any:
    """One kernel for all of the following."""
    client = NotebookClient(
        nbformat.v4.new_notebook(), timeout=120, kernel_name="python3", allow_errors=True,
        resources={"metadata": {"path": str(RELEASED[0].parent)}},
    )  # fmt: skip
    with client.setup_kernel():
        yield Kernel(client)


def cell_of(path: Path, cell_id: str) -> str:
    return next(f"{cell.source}" for cell in nbformat.read(path, 4).cells if cell.id == cell_id)


def test_one_notebook_from_the_stub_to_full_points(kernel: Kernel) -> None:
    solved, released = SOLVED[0], RELEASED[0]
    assert kernel.run(cell_of(released, "rmsnorm-start")) == ""
    assert kernel.run(cell_of(released, "rmsnorm-answer")) == ""
    check = cell_of(released, "rmsnorm-check")
    said = kernel.run(check)
    assert f"{TOLD}rmsnorm: keep eps and create gamma, one gain a feature" in said
    assert said.endswith("['text/plain'] 0.0")
    assert "epsilon: needs rmsnorm (to do: keep eps" in kernel.run(cell_of(released, "rmsnorm-given-3"))
    kernel.run((ROOT / "mistakes" / "rejected" / "rmsnorm" / "centering.py").read_text(encoding="utf-8"))
    said = kernel.run(check)
    assert "Mistake: rmsnorm-centering (subtracts the mean)" in said
    assert said.endswith("['text/plain'] 10.5")
    kernel.run(cell_of(solved, "rmsnorm-answer"))
    assert kernel.run(check).endswith("['text/plain'] 14.0")
    said = kernel.run(cell_of(released, "rmsnorm-given-3"))
    assert "epsilon: what eps does near zero (M6 §5), by your notebook" in said
    assert "image/png" in said


def test_what_an_answer_prints_or_warns_costs_nothing(kernel: Kernel) -> None:
    """nbgrader takes any text on a check cell's stderr for a failure."""
    noisy = "import sys, warnings\nprint('note', file=sys.stderr)\nwarnings.warn('careful')\n"
    lines = noisy.splitlines(keepends=True)
    answer = cell_of(SOLVED[0], "rmsnorm-answer").replace("### BEGIN SOLUTION rmsnorm: divide", "# divide")
    place = "        # divide each token by its root mean square and apply gamma\n"
    assert place in answer
    kernel.run(answer.replace(place, "".join(f"        {line}" for line in lines)))
    said = kernel.run(cell_of(RELEASED[0], "rmsnorm-check"))
    assert said.endswith("['text/plain'] 14.0")
    assert "[stderr]" not in said


def test_a_plot_beside_the_answer_is_not_held_against_it(kernel: Kernel) -> None:
    """numpy_bridge must do without torch; a figure of its results need not."""
    kernel.run(cell_of(SOLVED[8], "numpy_bridge-answer"))
    plot = "import torch\nimport torch.nn.functional as F\nF.gelu(torch.ones(3)) - torch.from_numpy(gelu(np.ones(3)))"
    assert "tensor" in kernel.run(plot)
    check = cell_of(RELEASED[8], "numpy_bridge-check")
    assert kernel.run(check).endswith("['text/plain'] 10.0")
    kernel.run("from torch import sigmoid\n\ndef stable_sigmoid(z):\n    return sigmoid(torch.as_tensor(z)).numpy()")
    said = kernel.run(check)
    assert "forbidden" in said
    assert said.endswith("['text/plain'] 0.0")


def test_wrong_use_of_the_cells_is_told(kernel: Kernel) -> None:
    assert "ValueError: unknown exercise 'nrom'" in kernel.run('check("nrom", globals())')
    experiment = "from nanolm.notebook import experiment, pieces\n"
    assert "ValueError: there is no experiment 'ledgr': there are eps" in kernel.run(
        experiment + 'experiment("ledgr", globals())'
    )
    assert "ValueError: no exercise asks for 'Attention'" in kernel.run('pieces("Attention")')
    assert "NotImplementedError: swiglu: write SwiGLU (exercises/modules.py), there or in the exercise's notebook" in (
        kernel.run('pieces("SwiGLU")')
    )
    elsewhere = "import os, tempfile\nhere = os.getcwd()\nos.chdir(tempfile.gettempdir())\n"
    said = kernel.run(f"{elsewhere}try:\n    check('mhc', globals())\nfinally:\n    os.chdir(here)")
    assert "FileNotFoundError: there is no course here or above" in said
