"""Wrong Python, wrong torch, no torch, no GPU, the commands of a copy: one clear sentence each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nanolm import cli, doctor
from nanolm.environment import environment_problem
from nanolm.implementation import UnknownImplementation, choose

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("python", "torch", "words"),
    [
        ((3, 10), "2.13.0", "Python 3.10 is not supported: use Python 3.11, 3.12 or 3.13"),
        ((3, 14), "2.13.0", "Python 3.14 is not supported"),
        ((3, 12), "2.3.1+cpu", "PyTorch 2.3.1+cpu is too old: version 2.4 or newer is needed"),
        ((3, 12), "1.13", "too old"),
    ],
)
def test_problems_are_named(python: tuple[int, int], torch: str, words: str) -> None:
    assert words in (environment_problem(python, torch) or "")


@pytest.mark.parametrize("torch", ["2.4", "2.4.1", "2.13.0+cpu", "2.14.0a0+gitabc", "3.0"])
def test_suitable_versions_pass(torch: str) -> None:
    assert environment_problem((3, 11), torch) is None


def test_missing_torch_says_how_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise doctor.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("nanolm.environment.metadata.version", missing)
    assert "pip install -r requirements.lock" in (environment_problem() or "")


def run_pytest(**variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "tests", "-k", "worked"]
    environment = {**os.environ, "NANOLM_IMPL": "solutions", **variables}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)


def test_an_unknown_device_is_a_usage_error() -> None:
    done = run_pytest(NANOLM_DEVICE="tpu\x1b[31m")
    assert done.returncode == 4
    assert "available are cpu and cuda" in done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_cuda_without_a_gpu_is_a_usage_error() -> None:
    done = run_pytest(NANOLM_DEVICE="cuda", CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 4
    assert "PyTorch sees no CUDA device here" in done.stdout + done.stderr


def test_a_time_limit_that_is_no_number_is_a_usage_error() -> None:
    done = run_pytest(NANOLM_TEST_SECONDS="soon")
    assert done.returncode == 4
    assert "NANOLM_TEST_SECONDS='soon': give a number of seconds" in done.stdout + done.stderr


def test_choose_resolves_names(tmp_path: Path) -> None:
    (tmp_path / "exercises").mkdir()
    assert choose(tmp_path, {}).package == "exercises"
    assert choose(tmp_path, {"NANOLM_IMPL": ""}).package == "exercises"
    assert choose(tmp_path, {"NANOLM_IMPL": "exercises_en"}).package == "exercises"
    with pytest.raises(UnknownImplementation, match="Available: exercises, exercises_en"):
        choose(tmp_path, {"NANOLM_IMPL": "solutions"})  # the students' copy has none


def test_doctor_is_content_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.command([]) == 0
    printed = capsys.readouterr().out
    assert all(line.startswith("ok") for line in printed.splitlines()), printed


def test_doctor_finds_the_course_from_inside_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT / "exercises")
    monkeypatch.delenv("NANOLM_IMPL", raising=False)
    assert doctor.command([]) == 0
    assert f"exercises at {ROOT / 'exercises'}" in capsys.readouterr().out


def test_doctor_says_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "PACKAGES", ("no-such-package",))
    assert doctor.command([]) == 1
    printed = capsys.readouterr().out
    assert "!!  no-such-package" in printed
    assert "→ run `python -m pip install" in printed


def test_the_command_names_what_a_students_copy_lacks() -> None:
    installed = {name: point for name, point in cli.commands().items() if name in cli.STUDENTS}
    words = cli._unknown("grade", installed)
    assert "nanolm grade is an instructors' command" in words
    assert "verify" not in words
    assert "there is no command 'g\\\\x1bade'" in cli._unknown("g\x1bade", installed)


def test_the_command_refuses_unknown_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["frobnicate"]) == 2
    assert "there is no command 'frobnicate'" in capsys.readouterr().err
    assert cli.main([]) == 2
    assert cli.main(["--version"]) == 0


def test_every_installed_command_has_a_summary_and_loads() -> None:
    for name, point in cli.commands().items():
        assert cli.SUMMARIES[name]
        assert callable(point.load())
    assert set(cli.STUDENTS) <= set(cli.SUMMARIES)
