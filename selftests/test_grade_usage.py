"""`nanolm grade`: its exit statuses, the choice of exercises, and which course it grades with."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from rich.progress import Progress

from grader.table import Rate
from nanolm.cli import main
from nanolm.course import EXERCISES
from selftests.making_submissions import folder
from selftests.running_grade import ANSWERS, FULL, ROOT, nanolm, read_grades, trap


@pytest.fixture
def right(tmp_path: Path) -> Path:
    """A submission that nothing is wrong with, beside a folder that holds none."""
    folder(tmp_path / "nobody", {"notes.txt": "nothing to see"})
    return folder(tmp_path / "right", ANSWERS)


def course(here: Path, tests: Mapping[str, str] | None = None) -> Path:
    """A copy of the course, its graded tests replaced where others are given."""
    for name in ("tests", "exercises"):
        shutil.copytree(ROOT / name, here / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (here / "tests").glob("test_*.py") if tests else ():
        path.unlink()
    return folder(here, {f"tests/{name}": text for name, text in (tests or {}).items()})


USAGE = {
    "name at least one submission": (),
    "there is nothing at 'no-such-submission'": ("no-such-submission",),
    "invalid choice: 'attention'": ("right", "--exercise", "attention"),
    "unrecognized arguments: --no-such-option": ("right", "--no-such-option"),
    "There is no folder no-such-class": ("--class", "no-such-class"),
    "'nobody' holds no submission": ("--class", "nobody"),
    "right/modules.py is not a folder": ("right", "--class", "right/modules.py"),
    "--json: there is no folder": ("right", "--json", "no-such-folder/grades.json"),
    "--json: 'nobody' is a folder": ("right", "--json", "nobody"),
    "--processes takes a whole number": ("right", "--processes", "0"),
}


@pytest.mark.parametrize("words", USAGE)
def test_wrong_usage_is_exit_status_2(
    words: str, right: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(right.parent)
    with pytest.raises(SystemExit) as left:
        main(["grade", *USAGE[words]])
    assert left.value.code == 2
    out, err = capsys.readouterr()
    assert words in err
    assert out == ""


def test_exit_status_2_reaches_the_shell() -> None:
    ran = nanolm("grade", "no-such-submission")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "usage: nanolm grade" in ran.stderr


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda here: here / "nobody", "nobody holds no course: tests/ and exercises/ are expected there"),
        (lambda here: here / "nowhere", "nowhere holds no course: tests/ and exercises/ are expected there"),
        (lambda here: _without_config(course(here / "course")), "a file that the course gives cannot be read"),
    ],
)
def test_a_course_that_is_not_there_is_exit_status_4(
    break_it: Callable[[Path], Path], words: str, right: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grade", str(right), "--course", str(break_it(right.parent))]) == 4
    out, err = capsys.readouterr()
    assert words in err
    assert out == ""


def _without_config(here: Path) -> Path:
    (here / "exercises" / "config.py").unlink()
    return here


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        ("def test_broken(:\n", "tests/test_modules.py"),
        ("def test_plain() -> None: ...\n", "the tests of rmsnorm are worth 0 points, not 14"),
    ],
)
def test_tests_that_cannot_run_are_exit_status_4(tests: str, words: str, right: Path) -> None:
    ran = nanolm("grade", right, "--course", course(right.parent / "course", {"test_modules.py": tests}))
    assert ran.returncode == 4, ran.stderr
    assert words in ran.stderr
    assert ran.stdout == ""


def test_only_the_exercises_asked_for_are_reported_in_the_order_of_the_course(right: Path) -> None:
    one, both = right.parent / "one.json", right.parent / "both.json"
    ran = nanolm("grade", right, "--exercise", "rmsnorm", "--json", one)
    assert ran.returncode == 0, ran.stderr
    (submission,) = read_grades(one).submissions
    assert [exercise.id for exercise in submission.exercises] == ["rmsnorm"]
    assert submission.score == submission.max_score == 14.0
    assert "14.0 / 14" in ran.stdout
    assert "swiglu" not in ran.stdout + one.read_text()
    assert nanolm("grade", right, "--exercise", "swiglu", "--exercise", "rmsnorm", "--json", both).returncode == 0
    (submission,) = read_grades(both).submissions
    assert [exercise.id for exercise in submission.exercises] == ["rmsnorm", "swiglu"]
    assert submission.score == submission.max_score == 26.0


def test_a_submissions_own_tests_are_not_taken_for_the_courses(tmp_path: Path) -> None:
    """Students may hand in their whole copy, tests and all, and the instructor may stand in it."""
    trapped = tmp_path / "trapped"
    own = course(tmp_path / "own", {"__init__.py": trap(trapped), "test_modules.py": trap(trapped)})
    ran = nanolm("grade", ".", "--json", tmp_path / "own.json", cwd=own)
    assert not trapped.exists()
    assert ran.returncode == 0, ran.stderr
    (submission,) = read_grades(tmp_path / "own.json").submissions
    assert (submission.submission, submission.max_score, len(submission.exercises)) == ("own", FULL, len(EXERCISES))


@pytest.mark.parametrize(("seconds", "shown"), [(0.25, "4.0/s"), (12.0, "5/min")])
def test_the_progress_bar_tells_the_rate(seconds: float, shown: str) -> None:
    clock = [0.0]
    bar = Progress(Rate(), get_time=lambda: clock[0])
    task = bar.add_task("grading", total=10)
    assert Rate().render(bar.tasks[0]).plain == ""
    for _ in range(3):
        clock[0] += seconds
        bar.advance(task)
    assert Rate().render(bar.tasks[0]).plain == shown


@pytest.mark.parametrize(
    ("secret", "kept", "warned"), [("", True, True), ("", False, False), ("of this course", True, False)]
)
def test_marks_that_are_kept_ask_for_a_secret(
    secret: str, kept: bool, warned: bool, right: Path, tmp_path: Path
) -> None:
    ledger = ("--ledger", tmp_path / "week6.db") if kept else ()
    wanted = ("--exercise", "budget", "--isolation", "best")
    ran = nanolm("grade", right, *wanted, *ledger, environment={"NANOLM_SECRET": secret})
    assert ran.returncode == 0, ran.stderr
    assert ("NANOLM_SECRET is not set" in ran.stdout) == warned
