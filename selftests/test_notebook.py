"""The check cell of a notebook: names of a namespace instead of a package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nanolm import notebook

ROOT = Path(__file__).resolve().parent.parent


def run_cell(tmp_path: Path, bank_file: str, call: str) -> subprocess.CompletedProcess[str]:
    """Execute a bank file's text as a notebook's cells would be, then a check cell, in a process of its own."""
    cell = (ROOT / "mistakes" / bank_file).read_text(encoding="utf-8")
    script = tmp_path / "cells.py"
    script.write_text(f"{cell}\n\nfrom nanolm.notebook import check\n{call}\n", encoding="utf-8")
    return subprocess.run([sys.executable, str(script)], cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_a_right_answer_passes(tmp_path: Path) -> None:
    done = run_cell(tmp_path, "accepted/rmsnorm/addcmul.py", 'print("points:", check("rmsnorm", globals()))')
    assert "rmsnorm         14.0 / 14.0  passed" in done.stdout, done.stdout + done.stderr
    assert "points: 14.0" in done.stdout
    assert "scoreboard: notebook" in done.stdout
    assert "swiglu" not in done.stdout, "only the exercise that was asked for"


def test_a_mistake_is_named(tmp_path: Path) -> None:
    done = run_cell(tmp_path, "rejected/rmsnorm/centering.py", 'print("points:", check("rmsnorm", globals()))')
    assert "mistake: rmsnorm-centering" in done.stdout, done.stdout + done.stderr
    assert "points: 10.5" in done.stdout


def test_the_from_scratch_rule_reads_the_cells(tmp_path: Path) -> None:
    call = 'check("rmsnorm", globals() | {"In": ["", "import torch.nn as nn\\nclass RMSNorm(nn.RMSNorm): pass"]})'
    done = run_cell(tmp_path, "accepted/rmsnorm/addcmul.py", call)
    assert "nn.RMSNorm" in done.stdout, done.stdout + done.stderr
    assert "(forbidden)" in done.stdout


def test_an_unknown_exercise_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown exercise 'rmsnrom': there are rmsnorm"):
        notebook.check("rmsnrom", {})


def test_outside_a_course_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="inside the course's folder"):
        notebook.check("rmsnorm", {})
