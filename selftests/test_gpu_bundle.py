"""The bundle of the GPU job: one file that runs where there is torch, NumPy and what torch needs, and nothing else."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from grader.bank import read_bank
from grader.circumstances import circumstances
from grader.gpu.bundle import BundleError, write_bundle
from grader.gpu.session import EXERCISES
from grader.job import Job
from grader.session import Settings
from selftests.gpu_rehearsal import ROOT

ABSENT = ("pytest", "hypothesis", "safetensors", "msgspec", "rich", "einops", "jaxtyping", "nanolm", "grader")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job on one submission that does not widen."""
    (specimen,) = [s for s in read_bank(ROOT) if s.name == "rejected/rmsnorm/low-precision"]
    target = tmp_path_factory.mktemp("bundle") / "job.pyz"
    write_bundle(ROOT, [specimen.job(ROOT)], target)
    return target


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of links to torch, NumPy and what these require, and to nothing else."""
    folder = tmp_path_factory.mktemp("bare")
    waiting, seen = ["torch", "numpy"], set[str]()
    while waiting:
        name = waiting.pop()
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # what another platform would need
        if name in seen:
            continue
        seen.add(name)
        for top in {path.parts[0] for path in found.files or () if path.parts[0] not in ("..", "__pycache__")}:
            link = folder / top
            if not link.exists():
                link.symlink_to(Path(str(found.locate_file(top))))
        for line in found.requires or ():
            if "extra ==" not in line:
                waiting.append(line.split(";")[0].split("[")[0].strip().split(" ")[0].rstrip("<>=!~0123456789.,"))
    return folder


def run_bare(bare: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Python without site packages, the user's own included, and without our environment."""
    start = f"import sys; sys.path.append({str(bare)!r})\n"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", start + code], capture_output=True, encoding="utf-8", timeout=300,
        cwd=bare.parent, env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip


def test_the_bare_interpreter_is_bare(bare: Path) -> None:
    code = "import importlib.util as u\nprint([n for n in %r if u.find_spec(n)], u.find_spec('torch') is not None)"
    assert run_bare(bare, code % (ABSENT,)).stdout == "[] True\n"


def test_a_bundle_runs_where_there_is_torch_and_numpy_alone(bundle: Path, bare: Path, tmp_path: Path) -> None:
    arguments = [
        str(bundle), "--device", "cpu", "--exercise", "rmsnorm", "--no-bandwidth", "--json", str(tmp_path / "o.json"),
        "--tests", "gpu_precise", "--tests", "one_graph", "--tests", "law_of_scale", "--tests", "worked",
    ]  # fmt: skip
    done = run_bare(bare, f"import runpy; sys.argv = {arguments!r}; runpy.run_path(sys.argv[0], run_name='__main__')")
    assert done.returncode == 0, done.stdout + done.stderr
    data = json.loads((tmp_path / "o.json").read_text(encoding="utf-8"))
    verdicts = {v["test"].rpartition("::")[2]: v for v in data["submissions"][0]["verdicts"]}
    assert {name: v["outcome"] for name, v in verdicts.items()} == {
        "test_rmsnorm_gpu_precise": "wrong_value",
        "test_rmsnorm_gpu_one_graph": "wrong_value",
        "test_rmsnorm_worked_example": "passed",
        "test_rmsnorm_law_of_scale": "not_run_here",  # hypothesis is not there
    }
    # The diagnosis reads its fingerprints without safetensors.
    named = verdicts["test_rmsnorm_gpu_precise"]["mistakes"]
    assert [(mistake["id"], mistake["evidence"]) for mistake in named] == [("rmsnorm-low-precision", "output")]
    assert "hypothesis absent" in data["machine"]
    # The same tests and the same round, so that a ledger here takes its verdicts.
    ours = circumstances(Settings(ROOT, EXERCISES))
    assert (data["bundle"], data["round"]) == (ours.bundle, ours.round)


def test_a_bundle_holds_no_answer_and_nothing_compiled(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as opened:
        names = opened.namelist()
        assert len(names) == len(set(names))
        assert not [name for name in names if name.endswith((".so", ".pyd", ".dylib"))]
        tops = {"/".join(name.split("/")[:2]) for name in names if not name.startswith("carried/")}
        assert tops == {
            "__main__.py", "jobs.json", "course/tests", "course/exercises",
            "stand_ins/hypothesis.py", "stand_ins/safetensors.py",
        }  # fmt: skip
        given = {name for name in names if name.startswith("course/exercises/")}
        assert given == {f"course/exercises/{file}.py" for file in ("__init__", "config", "attention", "model")}
        for name in names:
            if name.endswith(".py"):
                ast.parse(opened.read(name))
    assert bundle.stat().st_size < 3_000_000


def test_a_bundle_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    for target in (tmp_path, tmp_path / "missing" / "job.pyz"):
        with pytest.raises(BundleError):
            write_bundle(ROOT, [Job("s", {})], target)
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_torch_is_told_what_is_missing(bundle: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    arguments = [str(bundle)]
    done = run_bare(empty, f"import runpy; sys.argv = {arguments!r}; runpy.run_path(sys.argv[0], run_name='__main__')")
    assert done.returncode == 4
    assert "needs Python 3.11 or newer, PyTorch and NumPy; missing: ['torch', 'numpy']" in done.stderr
