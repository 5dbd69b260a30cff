"""The GPU job, run on the CPU: its processes, its command, its file, and the way into grades and ledger."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.bank import package_job
from grader.gpu import backend as backends
from grader.gpu.backend import GpuBackend
from grader.gpu.job import lines
from grader.gpu.merge import GpuFileError, read_run, with_devices
from grader.results import SubmissionResult
from nanolm.protocol import Call, Outcome, StudentFault
from nanolm.verdict import Verdict
from selftests.gpu_rehearsal import ROOT

NANOLM = Path(sys.executable).with_name("nanolm")
CARD = "cuda:A Card"

HOSTILE = '''
import os, sys, torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d))

    def forward(self, x):
        what = int(x.reshape(-1)[0].item())
        if what == 1:
            while True: pass
        if what == 2:
            os._exit(3)
        if what == 3:
            for fd in range(3, 30):
                try: os.write(fd, b"{" * 4096)
                except OSError: pass
            os._exit(0)
        if what == 4:
            raise RuntimeError("CUDA error: device-side assert triggered")
        if what == 5:
            assert "NANOLM_SECRET" not in os.environ
            print("noise " * 10000)
        return x * os.getpid()
'''  # fmt: skip


@pytest.fixture(scope="module")
def hostile() -> Iterator[GpuBackend]:
    backend = GpuBackend({"modules.py": HOSTILE}, "cpu", call_seconds=3.0)
    yield backend
    backend.close()


def norm(backend: GpuBackend, what: int) -> float:
    """One call; returns the worker's process id."""
    reply = backend.run(Call("rms_norm", {"x": torch.tensor([float(what), 1.0])}, {"d_model": 2}))
    return float(reply.tensors["y"][1])


def test_a_process_that_hangs_dies_or_lies_costs_one_call(hostile: GpuBackend) -> None:
    first = norm(hostile, 0)
    assert first == norm(hostile, 5)  # the same process, and no secret in it
    for what, outcome in ((1, Outcome.TIMEOUT), (2, Outcome.CRASHED), (3, Outcome.CRASHED)):
        with pytest.raises(StudentFault) as caught:
            norm(hostile, what)
        assert caught.value.outcome is outcome
        assert norm(hostile, 0) != first
        first = norm(hostile, 0)


def test_a_broken_device_gets_a_fresh_process(hostile: GpuBackend) -> None:
    first = norm(hostile, 0)
    with pytest.raises(StudentFault) as caught:
        norm(hostile, 4)
    assert caught.value.outcome is Outcome.EXCEPTION
    assert norm(hostile, 0) != first


def test_nothing_is_left_of_a_process(hostile: GpuBackend) -> None:
    norm(hostile, 0)
    worker = hostile._worker
    assert worker is not None
    pid, folder = worker._process.pid, worker.scratch
    hostile.close()
    assert not folder.exists()
    assert not Path(f"/proc/{pid}").exists()


def test_when_the_jobs_time_is_up_the_rest_is_not_run_here() -> None:
    backend = GpuBackend({"modules.py": HOSTILE}, "cpu", until=time.monotonic() - 1)
    with pytest.raises(StudentFault) as caught:
        norm(backend, 0)
    assert caught.value.outcome is Outcome.NOT_RUN_HERE


def test_a_workers_environment_holds_no_secret() -> None:
    assert not [name for name in backends.KEPT if "NANOLM" in name or "TOKEN" in name]


# ── The command ──────────────────────────────────────────────────────────────────────────────────────────────────────


def nanolm(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(NANOLM), *map(str, arguments)], cwd=ROOT, capture_output=True, encoding="utf-8", timeout=300,
        env={"PATH": "/usr/bin:/bin", "HOME": "/tmp", "CUDA_VISIBLE_DEVICES": "", **environment},
    )  # fmt: skip


@pytest.fixture(scope="module")
def submissions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two submissions of RMSNorm: one that is right on a CPU, one that is wrong everywhere."""
    folder = tmp_path_factory.mktemp("class")
    bank = ROOT / "mistakes"
    for name, file in (("anna", "gpu/rejected/rmsnorm/cpu-tensor.py"), ("boris", "rejected/rmsnorm/centering.py")):
        (folder / name).mkdir()
        (folder / name / "modules.py").write_text((bank / file).read_text(encoding="utf-8"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def rehearsal(submissions: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The file and the output of a rehearsed job."""
    file = tmp_path_factory.mktemp("job") / "gpu.json"
    done = nanolm(
        "gpu", "--class", submissions, "--device", "cpu", "--exercise", "rmsnorm", "--json", file,
        "--tests", "gpu_precise", "--tests", "stays", "--tests", "does_not_center",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return file, done.stdout


def test_the_job_ends_with_a_short_table_and_a_file(rehearsal: tuple[Path, str]) -> None:
    file, output = rehearsal
    data = json.loads(file.read_text(encoding="utf-8"))
    assert (data["schema"], data["device"], data["isolation"]) == ("nanolm.gpu/1", "cpu:rehearsal", "weak")
    assert data["seconds"]["warm_up"] > 0
    outcomes = {
        (s["submission"], v["test"].rpartition("::")[2]): v["outcome"]
        for s in data["submissions"]
        for v in s["verdicts"]
    }
    assert outcomes == {
        ("anna", "test_rmsnorm_gpu_precise"): "passed",
        ("anna", "test_rmsnorm_gpu_stays_on_its_device"): "exception",
        ("anna", "test_rmsnorm_does_not_center"): "passed",
        ("boris", "test_rmsnorm_gpu_precise"): "passed",  # rows of mean zero hide it
        ("boris", "test_rmsnorm_gpu_stays_on_its_device"): "passed",
        ("boris", "test_rmsnorm_does_not_center"): "wrong_value",
    }
    table = output[output.index("submission ") :]
    assert "anna                     rmsnorm    1 of 2 passed          1 of 1 passed" in table
    assert "test_rmsnorm_gpu_stays_on_its_device: exception (rmsnorm-cpu-tensor)" in table
    assert "test_rmsnorm_does_not_center: wrong_value (rmsnorm-centering)" in table
    assert "copy 1.0, F.rms_norm" in table
    assert "[  1/3] test_rmsnorm_gpu_precise" in output
    assert [row["name"] for row in data["bandwidth"][0]["rows"]] == [
        "copy", "F.rms_norm", "this RMSNorm", "this RMSNorm, compiled",
    ]  # fmt: skip


def on_a_card(file: Path, target: Path, **changes: Any) -> Path:
    """The rehearsal's file as if a card had given it."""
    data = json.loads(file.read_text(encoding="utf-8")) | {"device": CARD} | changes
    target.write_text(json.dumps(data), encoding="utf-8")
    return target


def test_grade_takes_a_cards_verdicts_and_no_point_changes(
    rehearsal: tuple[Path, str], submissions: Path, tmp_path: Path
) -> None:
    gpu, ledger = on_a_card(rehearsal[0], tmp_path / "gpu.json"), tmp_path / "l.db"
    common = ("grade", "--class", submissions, "--exercise", "rmsnorm", "--isolation", "best", "--ledger", ledger)
    before = nanolm(*common, "--json", tmp_path / "before.json")
    assert before.returncode == 0, before.stderr
    after = nanolm(*common, "--json", tmp_path / "after.json", "--gpu", gpu)
    assert after.returncode == 0, after.stderr
    one, other = (json.loads((tmp_path / name).read_text(encoding="utf-8")) for name in ("before.json", "after.json"))
    anna, later = one["submissions"][0], other["submissions"][0]
    assert anna["score"] == later["score"] == 14.0
    assert anna["exercises"][0]["status"] == later["exercises"][0]["status"] == "passed"
    outcomes = {test["id"].rpartition("::")[2]: test["outcome"] for test in later["exercises"][0]["tests"]}
    assert outcomes["test_rmsnorm_gpu_stays_on_its_device"] == "exception"
    assert outcomes["test_rmsnorm_gpu_precise"] == "passed"
    assert outcomes["test_rmsnorm_gpu_one_graph"] == "not_run_here"
    assert {test["outcome"] for test in anna["exercises"][0]["tests"]} == {"passed", "not_run_here"}
    assert [mistake["id"] for mistake in later["exercises"][0]["mistakes"]] == ["rmsnorm-cpu-tensor"]
    assert "2 tests have their verdict from cuda:A Card." in later["notes"]
    rows = sqlite3.connect(ledger).execute(
        "select device, isolation, count(*) from verdicts group by device, isolation order by device desc"
    )
    counted = rows.fetchall()
    assert (CARD, "weak", 6) in counted
    # The next run takes them out of the ledger, without the file.
    again = nanolm(*common, "--json", tmp_path / "again.json")
    assert again.returncode == 0
    assert (
        json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))["submissions"][0]["exercises"]
        == later["exercises"]
    )


def test_a_file_of_other_tests_changes_no_grade(rehearsal: tuple[Path, str], submissions: Path, tmp_path: Path) -> None:
    stale = on_a_card(rehearsal[0], tmp_path / "stale.json", bundle="of yesterday")
    done = nanolm(
        "grade", submissions / "anna", "--exercise", "rmsnorm", "--isolation", "best", "--gpu", stale,
        "--json", tmp_path / "g.json",
    )  # fmt: skip
    assert done.returncode == 0
    assert "Under other tests than these" in done.stdout
    grades = json.loads((tmp_path / "g.json").read_text(encoding="utf-8"))
    assert "exception" not in json.dumps(grades)


def damaged(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    verdict = data["submissions"][0]["verdicts"][0]
    first = data["submissions"][0]

    def with_verdict(**changes: Any) -> dict[str, Any]:
        return data | {"device": CARD, "submissions": [first | {"verdicts": [verdict | changes]}]}

    yield "a rehearsal", data
    yield "is not the file of a GPU job", {"schema": "nanolm.grade/1"}
    yield "damaged", {"schema": "nanolm.gpu/1"}
    yield "damaged", data | {"device": CARD, "isolation": "full"}
    yield "damaged", with_verdict(score=5.0)
    yield "damaged", with_verdict(score=1e999, max_score=1e999)
    yield "damaged", with_verdict(outcome="splendid")
    yield "damaged", with_verdict(exercise="alchemy")
    yield "damaged", with_verdict(message=3)
    yield "damaged", with_verdict(mistakes=[{"id": "rmsnorm-nothing", "evidence": "output", "message": ""}])


def test_a_damaged_file_is_wrong_usage(rehearsal: tuple[Path, str], tmp_path: Path) -> None:
    data = json.loads(rehearsal[0].read_text(encoding="utf-8"))
    for words, content in damaged(data):
        (tmp_path / "x.json").write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(GpuFileError, match=words):
            read_run(tmp_path / "x.json")
    (tmp_path / "x.json").write_bytes(b"\xff{")
    done = nanolm("grade", "--gpu", tmp_path / "x.json", ROOT / "exercises")
    assert done.returncode == 2
    assert "cannot be read" in done.stderr


def test_text_of_the_file_is_made_printable(rehearsal: tuple[Path, str], tmp_path: Path) -> None:
    data = json.loads(rehearsal[0].read_text(encoding="utf-8"))
    verdict = data["submissions"][0]["verdicts"][0] | {"message": "\x1b[2Jgone", "notes": ["\u202e"]}
    content = data | {"device": CARD, "submissions": [data["submissions"][0] | {"verdicts": [verdict]}]}
    (tmp_path / "x.json").write_text(json.dumps(content), encoding="utf-8")
    (entry,) = read_run(tmp_path / "x.json").entries()
    assert "\x1b" not in entry.verdict.message
    assert entry.verdict.notes == ("\\u202e",)


def test_a_device_never_replaces_a_verdict_of_the_cpu_or_gives_points(
    rehearsal: tuple[Path, str], tmp_path: Path
) -> None:
    run = read_run(on_a_card(rehearsal[0], tmp_path / "gpu.json"))
    entries = list(run.entries())
    name = entries[0].verdict.test
    for outcome, points in ((Outcome.PASSED, 0.0), (Outcome.WRONG_VALUE, 2.0), (Outcome.NOT_RUN_HERE, 2.0)):
        own = Verdict(name, "rmsnorm", outcome, 0.0, points)
        assert with_devices(SubmissionResult("s", (own,), points), entries).verdicts == (own,)
    skipped = Verdict(name, "rmsnorm", Outcome.NOT_RUN_HERE, 0.0, 0.0)
    assert with_devices(SubmissionResult("s", (skipped,), 0.0), entries).verdicts[0].outcome is not Outcome.NOT_RUN_HERE


def test_without_a_gpu_the_command_says_so_and_grades_nothing() -> None:
    done = nanolm("gpu")
    assert done.returncode == 4
    assert "not_run_here" in done.stderr
    assert nanolm("gpu", "--device", "tpu", NANOLM_IMPL="solutions").returncode == 4
    assert nanolm("gpu", "/nowhere").returncode == 2


def test_a_submission_that_cannot_be_read_has_its_reason_in_the_table() -> None:
    job = package_job(ROOT, "solutions", "s")
    data = {
        "machine": "m", "bandwidth": [], "isolation": "weak",
        "seconds": {"total": 1, "warm_up": 0, "compiled_tests": 0},
        "submissions": [{"submission": job.name, "ungradable": "it is a \x1b link", "verdicts": []}],
    }  # fmt: skip
    assert any("it is a \\x1b link" in line for line in lines(data))
