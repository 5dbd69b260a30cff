"""`nanolm grade` as an instructor runs it: one class of every kind of submission, the table, the messages, the JSON."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from nanolm.course import EXERCISES
from selftests.making_submissions import folder, zipped
from selftests.running_grade import ANSWERS, FULL, STUBS, Grades, nanolm, read_grades, trap

REFERENCE, STUB = ANSWERS["modules.py"], STUBS["modules.py"]
OURS = ("rmsnorm", "swiglu")
"""The exercises of `modules.py`; every other file of a submission here is right."""

ESCAPE = "\x1b"
SHOWN_ESCAPE = "\\x1b"
STRANGE = f"[bold red]eve[-] {ESCAPE}[31m"
"""A name that rich would take for markup and a terminal for a colour."""
MESSAGE = f"[bold red]no[/bold red] {ESCAPE}[2J :smile: [link=http://x.example]y[/link]"


def patched(**first_lines: str) -> dict[str, str]:
    """Right answers, but with other code before the body of a forward, or at the `top` of the file."""
    places = {"rmsnorm": "        wide = x.to(", "swiglu": "        projected: Tensor = ", "top": "import torch\n"}
    text = REFERENCE
    for name, code in first_lines.items():
        assert text.count(places[name]) == 1
        indent = " " * (len(places[name]) - len(places[name].lstrip()))
        text = text.replace(places[name], "".join(f"{indent}{line}\n" for line in code.splitlines()) + places[name])
    return ANSWERS | {"modules.py": text}


def traps(marker: Path) -> dict[str, str]:
    """Files that would leave a mark if any Python or pytest took them for its own."""
    inert = ("conftest.py", "sitecustomize.py", "usercustomize.py", "__init__.py", "random.py", "pickle.py", "torch.py")
    return {
        **dict.fromkeys(inert, trap(marker)),
        "pytest.ini": "[pytest]\naddopts = --no-such-option\n",
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--no-such-option'\n",
        "tox.ini": "[pytest]\naddopts = --no-such-option\n",
        "modules.pth": f"import pathlib; pathlib.Path({str(marker)!r}).touch()\n",
    }


OWN_CONFIG = """
from .config import ModelConfig
from exercises.config import ModelConfig as Other
import exercises.config as whole
assert ModelConfig is Other is whole.ModelConfig
assert ModelConfig(V=1, D=2, L=3, N=8, K=2, H=5, F=6).G == 4
assert not hasattr(whole, 'THEIRS')
"""


def write_class(here: Path, marker: Path) -> None:
    """Everything that an instructor may find in the hand-in folder one evening."""
    inside = {f"exercises/{file}": text for file, text in ANSWERS.items()}
    half = STUB.partition("class SwiGLU(")[2].partition("\n\n\nclass ")[0]
    whole = REFERENCE.partition("class SwiGLU(")[2].partition("\n\n\nclass ")[0]
    submissions: dict[str, Mapping[str, str | bytes]] = {
        "inside": inside,
        "stub": STUBS,
        "half": ANSWERS | {"modules.py": REFERENCE.replace(whole, half)},
        "config": patched(top=OWN_CONFIG) | {"config.py": f"THEIRS = 1\n{trap(marker)}"},
        "traps": {**ANSWERS, **traps(marker), "exercises/conftest.py": trap(marker)},
        "syntax-error": ANSWERS | {"modules.py": REFERENCE.replace("self.eps = eps", "self.eps = = eps")},
        "endless": patched(rmsnorm="while True:\n    pass"),
        "abort": patched(rmsnorm="import os\nos.abort()"),
        "exits": patched(rmsnorm="raise SystemExit(0)", swiglu="raise KeyboardInterrupt"),
        "chatty": patched(rmsnorm="print('x' * 5_000_000)", swiglu="print('y' * 100)"),
        "markup": patched(rmsnorm=f"raise ValueError({MESSAGE!r})"),
        "centering": patched(rmsnorm="x = x - x.mean(-1, keepdim=True)"),
        "latin-1": {"modules.py": ("# Lösung\n" + REFERENCE).encode("latin-1", "replace")},
        "empty": {},
        STRANGE: patched(swiglu="return None"),
    }
    for name, contents in submissions.items():
        folder(here / name, contents)
    zipped(here / "archive.zip", inside)
    (here / "broken.zip").write_bytes(b"PK\x03\x04 cut short")
    folder(here, traps(marker))  # beside the submissions, where the command is started


GARBAGE = {
    "NANOLM_IMPL": "garbage",
    "NANOLM_DEVICE": "garbage",
    "PYTEST_ADDOPTS": "-k nothing --no-such-option",
    "PYTEST_PLUGINS": "no_such_plugin",
}
"""Variables that mean something to a local run."""


@dataclass(frozen=True)
class Evening:
    ran: subprocess.CompletedProcess[str]
    grades: Grades
    folder: Path
    json: Path
    before: Path
    marker: Path


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Evening:
    """The whole class and some single paths, graded in one run, from inside the class folder."""
    base = tmp_path_factory.mktemp("evening")
    marker = base / "a-trap-was-executed"
    write_class(base / "class", marker)
    for year in ("2024", "2025"):
        folder(base / year / "alice", ANSWERS)
    folder(base / "loose", {"modules.py": REFERENCE})
    written = base / "out" / "grades.json"
    folder(written.parent, {"grades.json": "the grades of last year"})
    before = base / "before.json"
    os.link(written, before)
    paths = [base / "2024" / "alice", base / "2025" / "alice", base / "loose" / "modules.py"]
    ran = nanolm(
        "grade", *paths, "--class", ".", "--json", written, "--messages", "--processes", "2",
        cwd=base / "class", environment=GARBAGE,
    )  # fmt: skip
    assert ran.returncode == 3, ran.stderr + ran.stdout
    return Evening(ran, read_grades(written), base / "class", written, before, marker)


def test_every_submission_is_reported_once_in_the_order_given(evening: Evening) -> None:
    names = evening.grades.names
    assert names[:3] == ["2024/alice", "2025/alice", "modules.py"]
    assert len(set(names)) == len(names) == 20
    assert names[3:] == sorted(names[3:], key=lambda name: name.replace(SHOWN_ESCAPE, ESCAPE))
    assert re.search(r"20 submissions in .*; 3 could not be graded", evening.ran.stdout)


@pytest.mark.parametrize("name", ["2024/alice", "inside", "archive", "config", "traps", "chatty"])
def test_right_answers_earn_all_points_however_they_are_handed_in(evening: Evening, name: str) -> None:
    submission = evening.grades[name]
    assert submission.score == FULL
    assert [exercise.status for exercise in submission.exercises] == ["passed"] * len(EXERCISES)
    assert not any(exercise.mistakes for exercise in submission.exercises)
    assert all(test.message == "" for test in submission.tests())


def test_a_single_file_is_a_submission_of_its_exercises(evening: Evening) -> None:
    for exercise in evening.grades["modules.py"].exercises:
        assert exercise.status == ("passed" if exercise.id in OURS else "not_attempted")


def test_sums_agree_and_the_maximum_is_the_same_for_everybody(evening: Evening) -> None:
    ids = {tuple(test.id for test in submission.tests()) for submission in evening.grades.submissions} - {()}
    assert len(ids) == 1
    for submission in evening.grades.submissions:
        assert submission.max_score == FULL
        assert submission.score == sum(exercise.score for exercise in submission.exercises)
        for exercise in submission.exercises:
            assert exercise.score == sum(test.score for test in exercise.tests)
            assert exercise.max_score == sum(test.max_score for test in exercise.tests) == EXERCISES[exercise.id].points
            assert all(test.score == (test.max_score if test.outcome == "passed" else 0) for test in exercise.tests)
        if submission.status == "graded":
            assert [exercise.id for exercise in submission.exercises] == list(EXERCISES)


def test_what_cannot_be_read_is_ungradable_with_a_reason_and_never_a_silent_zero(evening: Evening) -> None:
    found = {s.submission: str(s.reason) for s in evening.grades.submissions if s.status == "ungradable"}
    assert set(found) == {"latin-1", "empty", "broken"}
    for name, words in (("latin-1", "not UTF-8"), ("empty", "no exercise file"), ("broken", "damaged")):
        assert words in found[name]
        assert re.search(rf"{name}\s*│\s*no grade │.*ungradable: ", evening.ran.stdout)
    for submission in evening.grades.submissions:
        assert (submission.reason is not msgspec.UNSET) == (submission.status == "ungradable")


def test_a_stub_is_not_attempted(evening: Evening) -> None:
    stub = evening.grades["stub"]
    assert stub.score == 0
    assert stub.status == "graded"
    assert {exercise.status for exercise in stub.exercises} == {"not_attempted"}
    assert {test.outcome for test in stub.tests()} == {"not_attempted"}
    half = evening.grades["half"]
    assert [exercise.id for exercise in half.exercises if exercise.status != "passed"] == ["swiglu"]
    assert half.exercise("swiglu").status == "not_attempted"


def test_a_file_that_cannot_be_imported_is_graded_and_failed(evening: Evening) -> None:
    submission, line = evening.grades["syntax-error"], "self.eps = = eps"
    assert submission.status == "graded"
    failed = [exercise for exercise in submission.exercises if exercise.status == "failed"]
    assert [exercise.id for exercise in failed] == list(OURS)
    assert submission.score == FULL - sum(exercise.max_score for exercise in failed)
    assert not any(exercise.mistakes for exercise in failed)
    source = (evening.folder / "syntax-error" / "modules.py").read_text(encoding="utf-8").splitlines()
    number = 1 + next(number for number, text in enumerate(source) if line in text)
    for test in (test for exercise in failed for test in exercise.tests):
        assert test.outcome == "exception"
        assert f"exercises/modules.py line {number} raised SyntaxError: invalid syntax" in test.message
        assert line in test.message


@pytest.mark.parametrize(("name", "outcome", "words"), [("endless", "timeout", ""), ("abort", "crashed", "signal")])
def test_an_endless_loop_or_a_crash_costs_the_tests_that_run_into_it(
    evening: Evening, name: str, outcome: str, words: str
) -> None:
    submission = evening.grades[name]
    outcomes = submission.outcomes("rmsnorm")
    # These two build an RMSNorm and never call it; they stand behind a dozen tests that do.
    assert outcomes.pop("test_rmsnorm_has_only_gamma") == "passed"
    assert outcomes.pop("test_rmsnorm_gamma_starts_at_ones") == "passed"
    assert set(outcomes.values()) == {outcome}
    assert all(words in test.message for test in submission.tests() if test.outcome == outcome)
    assert submission.exercise("rmsnorm").score == 1.0
    assert submission.exercise("swiglu").status == "passed"
    # At 2 s each, no more than three time-outs are waited for; the clock is generous, since a machine may be busy.
    waited = [test for test in submission.tests() if test.outcome == "timeout" and "not run: " not in test.message]
    assert len(waited) <= 3
    assert submission.seconds < 40


def test_leaving_the_program_is_an_exception_like_any_other(evening: Evening) -> None:
    exits = evening.grades["exits"]
    for name, kind in (("rmsnorm", "SystemExit"), ("swiglu", "KeyboardInterrupt")):
        failed = [test for test in exits.exercise(name).tests if test.outcome != "passed"]
        assert {test.outcome for test in failed} == {"exception"}
        assert all(f"raised {kind}" in test.message for test in failed)
        assert 0 < exits.exercise(name).score < 2


def test_what_a_submission_prints_goes_nowhere(evening: Evening) -> None:
    assert "yyyy" not in evening.ran.stdout + evening.ran.stderr
    assert len(evening.ran.stdout) < 500_000
    assert evening.json.stat().st_size < 2_000_000


def test_a_mistake_has_a_name(evening: Evening) -> None:
    (named,) = evening.grades["centering"].exercise("rmsnorm").mistakes
    assert (named.id, named.evidence) == ("rmsnorm-centering", "output")
    assert named.message.endswith("?")
    assert re.search(rf"centering\s*│ +\d+\.\d / {FULL:.0f} │.*rmsnorm-centering", evening.ran.stdout)


def test_students_text_is_shown_as_plain_text(evening: Evening) -> None:
    shown, message = (text.replace(ESCAPE, SHOWN_ESCAPE) for text in (STRANGE, MESSAGE))
    assert shown in evening.grades.names
    assert evening.grades[shown].outcomes("swiglu")["test_swiglu_worked_numbers"] == "wrong_interface"
    assert f"raised ValueError: {message}" in evening.grades["markup"].exercise("rmsnorm").tests[0].message
    assert shown in evening.ran.stdout.partition("└─")[0]
    assert shown in evening.ran.stdout.partition("└─")[2]
    assert message in evening.ran.stdout
    assert ESCAPE not in evening.ran.stdout + evening.ran.stderr
    assert all(ESCAPE not in test.message for s in evening.grades.submissions for test in s.tests())


def test_messages_lead_to_the_section(evening: Evening) -> None:
    below = evening.ran.stdout.partition("└─")[2]
    assert "centering: " in below
    assert "M6 §5" in below
    assert f"inside: {FULL:.1f} / {FULL:.0f}" in below
    # Whoever has not tried has nothing to read but the score.
    assert re.search(r"stub: 0\.0 / \d+\n(  note: .*\n)*\n", below)


def test_nothing_beside_the_exercise_files_is_executed(evening: Evening, tmp_path: Path) -> None:
    assert not evening.marker.exists()
    assert "a trap was executed" not in evening.ran.stdout
    assert evening.ran.stderr == ""
    # The traps do work where somebody steps on them.
    marker = tmp_path / "marker"
    for text in (traps(marker)["conftest.py"], traps(marker)["modules.pth"]):
        exec(compile(text, "trap", "exec"), {})
        assert marker.exists()
        marker.unlink()


def test_the_json_file_is_replaced_whole(evening: Evening) -> None:
    # A second name of the old file still holds the old text: the new one was written beside it, then moved over it.
    assert evening.before.read_text() == "the grades of last year"
    assert [path.name for path in evening.json.parent.iterdir()] == ["grades.json"]
    assert f"Grades are in {evening.json}." in evening.ran.stdout.replace("\n", "")
