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
from dataclasses import dataclass
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


@dataclass
class Student:
    """A student's folder, and `nanolm watch` in it."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def printed(self) -> str:
        return (self.folder / "printed.txt").read_text("utf-8")

    def save(self, text: str) -> None:
        (self.folder / "exercises" / "modules.py").write_text(text, "utf-8")


@pytest.fixture
def student(tmp_path: Path) -> Iterator[Student]:
    for name in ("exercises", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, tmp_path)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NANOLM_", "PYTEST_", "CI"))}
    with (tmp_path / "printed.txt").open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "nanolm.cli", "watch", "rmsnorm"],
            cwd=tmp_path,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=kept | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
            # In a job of the background Ctrl-C is ignored, and what is ignored stays so in a child.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
    yield Student(tmp_path, process)
    process.kill()
    process.wait()


def test_a_student_saves_and_sees_and_stops(student: Student) -> None:
    until(lambda: "rmsnorm" in student.printed and "not attempted" in student.printed)
    student.save(SOLUTION)
    until(lambda: "14.0 / 14.0" in student.printed)
    student.process.send_signal(signal.SIGINT)
    assert student.process.wait(PATIENCE) == 0
    text = student.printed
    assert text.startswith("watching exercises/modules.py; Ctrl-C ends it\n")
    assert text.endswith("no longer watching\n")
    assert text.count("scoreboard: exercises") == 2
    assert not any(word in text for word in ("Traceback", "warning"))


STUBBORN = """
import os, signal
for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(name, signal.SIG_IGN)
with open("pid.txt", "w") as file:
    file.write(str(os.getpid()))
while True:
    pass
"""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_nothing_goes_on_when_the_terminal_is_closed(student: Student, name: str) -> None:
    student.save(STUBBORN)
    pid = student.folder / "pid.txt"
    until(lambda: pid.exists() and bool(pid.read_text()))
    student.process.send_signal(getattr(signal, name))
    assert student.process.wait(PATIENCE) == 0
    assert not alive(int(pid.read_text()))


def test_a_folder_that_is_gone_is_named(student: Student) -> None:
    until(lambda: "scoreboard" in student.printed)
    moved = (student.folder / "printed.txt").rename(student.folder.with_name("moved.txt"))
    shutil.rmtree(student.folder)
    assert student.process.wait(PATIENCE) == 1
    assert f"{student.folder} is gone" in moved.read_text("utf-8")
    assert "Traceback" not in moved.read_text("utf-8")
