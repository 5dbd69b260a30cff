"""`nanolm watch`: what a save starts, what it interrupts, and the whole of it with a student's files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from nanolm import watch as module
from nanolm.course import EXERCISES
from nanolm.watch import Trial, command, concerned, stamps, watch

ROOT = Path(__file__).resolve().parents[1]
SOLUTION = (ROOT / "solutions" / "modules.py").read_text("utf-8")
PATIENCE = 60.0


def test_a_change_concerns_its_own_exercises_and_all_where_others_import_the_file() -> None:
    everything = list(EXERCISES)
    assert concerned({"modules.py"}, everything) == ["rmsnorm", "swiglu"]
    assert concerned({"modules.py"}, ["swiglu", "budget"]) == ["swiglu"]
    assert concerned({"budget.py"}, ["swiglu"]) == []
    assert concerned({"config.py"}, everything) == everything
    assert concerned({"modules.py", "attention.py"}, ["budget"]) == ["budget"]
    assert concerned(set(), everything) == []


def test_a_file_that_comes_or_goes_is_a_change(tmp_path: Path) -> None:
    before = stamps(tmp_path)
    (tmp_path / "modules.py").write_text("a = 1\n", "utf-8")
    with_it = stamps(tmp_path)
    (tmp_path / "modules.py").unlink()
    (tmp_path / "notes.txt").write_text("no Python", "utf-8")
    assert before == stamps(tmp_path) == {}
    assert list(with_it) == ["modules.py"]


class Told:
    """A trial that is told instead of run, and ends when it is let."""

    made: list[Told]

    def __init__(self) -> None:
        self.exercises: Sequence[str] = ()
        self.running = True
        self.ended = False
        Told.made.append(self)

    def begin(self, exercises: Sequence[str]) -> None:
        self.exercises = exercises

    def end(self) -> None:
        self.running, self.ended = False, True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is watched by a thread until the test is over."""
    monkeypatch.setattr(module, "POLL_SECONDS", 0.02)
    Told.made = []
    over = threading.Event()
    look = module.stamps

    def until_over(folder: Path) -> module.Stamps:
        if over.is_set():
            raise KeyboardInterrupt
        return look(folder)

    monkeypatch.setattr(module, "stamps", until_over)

    def watching() -> None:
        with pytest.raises(KeyboardInterrupt):
            watch(tmp_path, ["rmsnorm", "swiglu", "budget"], Told)  # type: ignore[arg-type]

    thread = threading.Thread(target=watching)
    thread.start()
    yield tmp_path
    over.set()
    thread.join()
    assert all(trial.ended for trial in Told.made)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


def told() -> list[list[str]]:
    return [list(trial.exercises) for trial in Told.made]


ALL = ["rmsnorm", "swiglu", "budget"]


def test_all_are_tested_first_and_then_what_was_saved(folder: Path) -> None:
    until(lambda: told() == [ALL])
    Told.made[0].running = False
    until(lambda: len(told()) == 2)  # the next one is prepared while nothing is to be done
    (folder / "budget.py").write_text("a = 1\n", "utf-8")
    until(lambda: told()[:2] == [ALL, ["budget"]])


def test_what_was_not_finished_is_tested_with_what_was_saved(folder: Path) -> None:
    until(lambda: told() == [ALL])
    Told.made[0].running = False
    until(lambda: len(told()) == 2)
    (folder / "modules.py").write_text("a = 1\n", "utf-8")
    until(lambda: told()[1] == ["rmsnorm", "swiglu"])
    (folder / "budget.py").write_text("a = 1\n", "utf-8")
    until(lambda: told()[-1] == ALL)
    assert Told.made[1].ended


def test_a_file_that_concerns_nobody_interrupts_nothing(folder: Path) -> None:
    until(lambda: told() == [ALL])
    (folder / "qk_norm.py").write_text("a = 1\n", "utf-8")
    time.sleep(0.5)
    assert told() == [ALL]
    assert not Told.made[0].ended


@pytest.mark.parametrize(
    ("arguments", "folder", "words"),
    [(["rms"], ROOT, "unknown exercise 'rms': there are rmsnorm"), ([], Path("/"), "no tests/ folder here or above")],
)
def test_wrong_usage_says_what_to_do(
    arguments: list[str],
    folder: Path,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit, match="2"):
        command(arguments)
    assert words in capsys.readouterr().err


def test_a_process_that_is_ended_before_it_is_told_leaves_nothing() -> None:
    trial = Trial(ROOT)
    assert trial.running
    trial.end()
    assert not trial.running
    trial.begin(["rmsnorm"])  # nobody reads it


def test_a_student_saves_and_sees_and_stops(tmp_path: Path) -> None:
    for name in ("exercises", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, tmp_path)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NANOLM_", "PYTEST_", "CI"))}
    printed = tmp_path / "printed.txt"
    with printed.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "nanolm.cli", "watch", "rmsnorm"],
            cwd=tmp_path,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=kept | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
            # In a job of the background Ctrl-C is ignored, and what is ignored stays so in a child.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
    try:
        until(lambda: "rmsnorm" in printed.read_text("utf-8") and "not attempted" in printed.read_text("utf-8"))
        (tmp_path / "exercises" / "modules.py").write_text(SOLUTION, "utf-8")
        until(lambda: "14.0 / 14.0" in printed.read_text("utf-8"))
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
    text = printed.read_text("utf-8")
    assert text.startswith("watching exercises/modules.py; Ctrl-C ends it\n")
    assert text.endswith("no longer watching\n")
    assert text.count("scoreboard: exercises") == 2
    assert not any(word in text for word in ("Traceback", "warning"))
