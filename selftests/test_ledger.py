"""The ledger: nothing is lost, doubled or changed; what is known is not run again; what decides is in the key."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader import again, circumstances, commands
from grader.commands import CANNOT_START, FAILED, OK, UNGRADABLE, USAGE
from grader.grading import MISSING, grade_paths
from grader.ledger import Circumstances, Entry, Ledger, LedgerError
from grader.results import SubmissionResult
from grader.sandbox import Level
from grader.session import Settings
from nanolm.protocol import Outcome
from nanolm.verdict import NamedMistake, Verdict

ROOT = Path(__file__).resolve().parent.parent
AT = Circumstances("tests", "software", "round:1")
SETTINGS = Settings(ROOT, ("swiglu",), round="ledger", secret=b"a secret", isolation=Level.WEAK.value)
MISTAKEN = ROOT / "mistakes" / "rejected" / "swiglu" / "gelu-gate.py"


def verdict(test: str = "tests/t.py::test_a", outcome: Outcome = Outcome.PASSED, **more: Any) -> Verdict:
    score = 2.0 if outcome is Outcome.PASSED else 0.0
    return Verdict(test, "swiglu", outcome, score, 2.0, **more)


def entry(made: Verdict, at: Circumstances = AT, level: Level = Level.FULL, submission: str = "abc") -> Entry:
    return Entry(submission, at, level, 7, made)


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with Ledger(tmp_path / "ledger.db") as opened:
        yield opened


# --- the file --------------------------------------------------------------------------------------------------------


def test_a_verdict_comes_back_whole(ledger: Ledger) -> None:
    named = (NamedMistake("swiglu-gelu-gate", "output", "équal\x1b", 0.5),)
    made = verdict(outcome=Outcome.WRONG_VALUE, message="a\nb\x00c", mistakes=named, notes=("n",), catches=("x",))
    ledger.record(entry(made))
    assert ledger.known("abc", AT, Level.FULL).verdicts == {made.test: made}


def test_the_first_verdict_stays(ledger: Ledger) -> None:
    ledger.record(entry(verdict()))
    ledger.record(entry(verdict(outcome=Outcome.WRONG_VALUE)))
    (kept,) = ledger.known("abc", AT, Level.FULL).verdicts.values()
    assert kept.outcome is Outcome.PASSED


@pytest.mark.parametrize("change", ["UPDATE verdicts SET score = 99", "DELETE FROM verdicts"])
def test_nothing_that_is_written_can_be_changed(ledger: Ledger, change: str) -> None:
    ledger.record(entry(verdict()))
    with sqlite3.connect(ledger.path) as other, pytest.raises(sqlite3.DatabaseError, match="only grows"):
        other.execute(change)
    assert len(ledger.content()) == 1


@pytest.mark.parametrize(
    "other", [replace(AT, bundle="x"), replace(AT, environment="x"), replace(AT, round="x"), replace(AT, device="cuda")]
)
def test_every_part_of_the_key_counts(ledger: Ledger, other: Circumstances) -> None:
    ledger.record(entry(verdict()))
    assert ledger.known("abc", other, Level.WEAK).verdicts == {}
    assert ledger.known("another", AT, Level.WEAK).verdicts == {}
    ledger.record(entry(verdict(), other))
    assert len(ledger.content()) == 2


def test_a_verdict_answers_for_its_level_and_those_below(ledger: Ledger) -> None:
    ledger.record(entry(verdict(outcome=Outcome.WRONG_VALUE), level=Level.MEDIUM))
    assert ledger.known("abc", AT, Level.FULL).verdicts == {}
    assert len(ledger.known("abc", AT, Level.MEDIUM).verdicts) == len(ledger.known("abc", AT, Level.WEAK).verdicts) == 1
    ledger.record(entry(verdict(), level=Level.FULL))
    known = ledger.known("abc", AT, Level.WEAK)
    assert [v.outcome for v in known.verdicts.values()] == [Outcome.PASSED]
    assert known.isolation is Level.FULL


def test_infrastructure_is_noted_and_answers_for_nothing(ledger: Ledger) -> None:
    ledger.record(entry(verdict(outcome=Outcome.INFRASTRUCTURE, message="no worker")))
    assert ledger.known("abc", AT, Level.WEAK).verdicts == {}
    with sqlite3.connect(ledger.path) as other:
        assert other.execute("SELECT message FROM troubles").fetchall() == [("no worker",)]
    ledger.record(entry(verdict()))
    assert len(ledger.content()) == 1


def test_a_file_that_is_no_ledger_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, and longer than the header of one would be, to be sure that it is read " * 20)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="cannot be used as a ledger"):
        Ledger(path)
    assert path.read_bytes() == before


def test_a_ledger_of_another_format_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "l.db") as other:
        other.execute("PRAGMA user_version = 99")
    with pytest.raises(LedgerError, match="format 99"):
        Ledger(tmp_path / "l.db")


def test_what_was_handed_in_is_kept(ledger: Ledger) -> None:
    ledger.receive("anna", "abc", "r", {"a.py": "x = 'é'"}, {"b.py": "unreadable"})
    ledger.receive("anna", "def", "r", {"a.py": "y"}, {})
    ledger.receive("anna", "abc", "r", {"a.py": "x = 'é'"}, {"b.py": "unreadable"})
    assert ledger.read("abc") == ({"a.py": "x = 'é'"}, {"b.py": "unreadable"})
    assert ledger.read("nobody") is None
    ledger.receive("anna", "abc", "r", {"a.py": "x = 'é'"}, {"b.py": "unreadable"})
    assert ledger.named("anna") == ["def", "abc"]  # the newest last, though it had been handed in before
    with sqlite3.connect(ledger.path) as other:
        assert other.execute("SELECT count(*) FROM received").fetchone() == (3,)
    assert ledger.names("r") == ["anna"]


# --- grading with it -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def klass(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("class")
    for name, source in {"anna": ROOT / "solutions" / "modules.py", "boris": MISTAKEN}.items():
        (folder / name).mkdir()
        shutil.copy(source, folder / name / "modules.py")
    (folder / "carol").mkdir()
    (folder / "carol" / "modules.py").write_bytes(b"\xff\xfe\x00broken")
    return folder


def graded(klass: Path, path: Path, settings: Settings = SETTINGS) -> list[SubmissionResult]:
    return grade_paths(sorted(klass.iterdir()), settings, ledger=path)


def told(results: list[SubmissionResult]) -> list[tuple[Any, ...]]:
    return [(r.name, r.score, r.ungradable, [replace(v, seconds=0.0) for v in r.verdicts]) for r in results]


@pytest.fixture(scope="module")
def written(klass: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[SubmissionResult]]:
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    return path, graded(klass, path)


def test_what_is_known_is_not_run_again(
    klass: Path, written: tuple[Path, list[SubmissionResult]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*arguments: object) -> None:
        raise AssertionError("a worker was asked for")

    path, first = written
    monkeypatch.setattr("grader.remote.WorkerBackend.run", forbidden)
    assert told(graded(klass, path)) == told(first)
    assert first[0].score == 12.0
    assert first[1].root_causes[0].id == "swiglu-gelu-gate"
    assert first[2].ungradable


def test_a_part_of_an_exercise_is_run_whole(
    klass: Path, written: tuple[Path, list[SubmissionResult]], tmp_path: Path
) -> None:
    path, first = written
    with Ledger(path) as whole, Ledger(tmp_path / "part.db") as part:
        for digest in whole.named("boris"):
            for one in list(whole.entries(digest))[:5]:
                part.record(one)
    again_results = graded(klass, tmp_path / "part.db")
    assert told(again_results) == told(first)
    with Ledger(path) as whole, Ledger(tmp_path / "part.db") as part:
        assert part.content() == whole.content()


def test_another_round_or_secret_is_graded_afresh(
    klass: Path, written: tuple[Path, list[SubmissionResult]], tmp_path: Path
) -> None:
    path = tmp_path / "copy.db"
    with Ledger(written[0]) as source:
        count = len(source.content())
        source._db.execute("VACUUM INTO ?", (str(path),))
    graded(klass, path, replace(SETTINGS, secret=b"another"))
    with Ledger(path) as ledger:
        assert len(ledger.content()) == 2 * count


def test_the_circumstances_know_tests_kit_given_files_and_secret(tmp_path: Path) -> None:
    course = tmp_path / "course"
    for folder in ("tests", "exercises"):
        shutil.copytree(ROOT / folder, course / folder, ignore=shutil.ignore_patterns("__pycache__"))
    settings = replace(SETTINGS, root=course)
    before = circumstances.circumstances(settings)
    assert before == circumstances.circumstances(settings)
    assert before.round.startswith("ledger:")
    assert "a secret" not in str(before)
    assert replace(before, round="") == replace(circumstances.circumstances(replace(settings, secret=b"b")), round="")
    assert before.round != circumstances.circumstances(replace(settings, secret=b"b")).round
    for file in ("tests/tolerances.py", "exercises/config.py"):
        path = course / file
        path.write_text(path.read_text() + "\n# changed\n")
        after = circumstances.circumstances(settings)
        assert after.bundle != before.bundle
        before = after


def test_replay_reproduces_every_verdict_and_sees_a_forged_one(
    written: tuple[Path, list[SubmissionResult]], tmp_path: Path
) -> None:
    with Ledger(written[0]) as ledger:
        count, changes = again.replay(ledger, "boris", SETTINGS)
        assert (changes, count) == ([], 12)
        with pytest.raises(LedgerError, match="boris has no verdict of these exercises"):
            again.replay(ledger, "boris", replace(SETTINGS, exercises=("rmsnorm",)))
        with pytest.raises(LedgerError, match="rounds with a verdict: ledger"):
            again.replay(ledger, "boris", replace(SETTINGS, secret=b"another"))
        with pytest.raises(LedgerError, match="knows no submission named 'bo'"):
            again.replay(ledger, "bo", SETTINGS)
        with pytest.raises(LedgerError, match="carol has no verdicts, since it could not be read: modules"):
            again.replay(ledger, "carol", SETTINGS)
    with Ledger(tmp_path / "forged.db") as forged, Ledger(written[0]) as ledger:
        (digest,) = ledger.named("boris")
        texts, problems = ledger.read(digest) or ({}, {})
        forged.receive("boris", digest, "x", texts, problems)
        for one in (entry for entry in ledger.entries(digest) if entry.verdict.outcome is not Outcome.NOT_RUN_HERE):
            forged.record(
                replace(one, verdict=replace(one.verdict, outcome=Outcome.PASSED, score=one.verdict.max_score))
            )
        _, changes = again.replay(forged, "boris", SETTINGS)
    assert changes
    assert "passed" in str(changes[0])
    assert "wrong value, 0" in str(changes[0])


def test_regrading_says_who_gains_who_loses_and_why(
    written: tuple[Path, list[SubmissionResult]], tmp_path: Path
) -> None:
    old = {"t::a": verdict("t::a"), "t::b": verdict("t::b", Outcome.WRONG_VALUE), "t::c": verdict("t::c")}
    gain = again.compare("anna", list(old.values()), [old["t::a"], verdict("t::b"), old["t::c"]])
    loss = again.compare(
        "bo\x1bris", list(old.values()), [verdict("t::a", Outcome.CRASHED), old["t::b"], verdict("t::d")]
    )
    same = again.compare("carol", list(old.values()), list(old.values()))
    new = again.compare("dan", [], list(old.values()))
    assert (gain.gain, loss.gain, same.gain, new.gain) == (2, -2, 0, 0)
    lines = list(again.report([gain, loss, same, new]))
    assert "anna gains 2: 4 → 6" in lines
    assert "    b: wrong value, 0 → passed, 2" in lines
    assert "bo\\x1bris loses 2: 4 → 2" in lines
    assert "    new: d" in lines
    assert "    gone: b" not in lines
    assert "    gone: c" in lines
    assert lines[-1] == "4 submissions: 1 gain, 1 lose, 2 keep their points."


def test_regrade_finds_the_verdicts_from_before_a_changed_test(klass: Path, tmp_path: Path) -> None:
    course = tmp_path / "course"
    for folder in ("tests", "exercises"):
        shutil.copytree(ROOT / folder, course / folder, ignore=shutil.ignore_patterns("__pycache__"))
    usual = ["--course", str(course), "--ledger", str(tmp_path / "l.db"), "--exercise", "swiglu", "--isolation", "weak"]
    assert command("grade", "--class", str(klass), *usual).returncode == UNGRADABLE
    test = course / "tests" / "test_modules.py"
    head, name, rest = test.read_text(encoding="utf-8").partition("def test_swiglu_worked_numbers(")
    signature, _, body = rest.partition("\n")
    slip = "    raise checks.CheckFailure(checks.Outcome.WRONG_VALUE, 'the instructor slipped')\n"
    test.write_text(f"{head}{name}{signature}\n{slip}{body}", encoding="utf-8")
    done = command("regrade", *usual)
    assert done.returncode == OK, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("anna loses ") for line in lines), lines
    assert any(
        line.startswith("    test_swiglu_worked_numbers: passed, ") and "→ wrong value, 0" in line for line in lines
    )
    assert lines[-1].endswith("keep their points.")
    done = command("regrade", *usual, "--round", "other")
    assert done.returncode == CANNOT_START
    assert "holds no submission of round 'other'" in done.stderr


def command(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A sub-command in a process of its own: one process collects the tests of one course."""
    script = f"import sys; from grader.commands import {name}; sys.exit({name}(sys.argv[1:]))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True, encoding="utf-8", timeout=300, check=False, env=environment,
    )  # fmt: skip


# --- the commands ----------------------------------------------------------------------------------------------------


def run(*arguments: str) -> int:
    return commands.grade([*arguments, "--course", str(ROOT)])


def test_the_command_grades_resumes_and_lists_who_is_missing(
    klass: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roster, path, grades = tmp_path / "r.csv", tmp_path / "l.db", tmp_path / "g.json"
    with roster.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["id", "name"], ["anna", "A, B"], ["zoe", "Z"], ["boris", "<b>"], ["carol", "C"]])
    usual = ["--class", str(klass), "--exercise", "swiglu", "--isolation", "weak", "--ledger", str(path)]
    assert run(*usual, "--roster", str(roster), "--json", str(grades)) == UNGRADABLE
    rows: Mapping[str, Any] = {row["submission"]: row for row in json.loads(grades.read_text())["submissions"]}
    assert list(rows) == ["anna", "zoe", "boris", "carol"]
    assert (rows["zoe"]["status"], rows["zoe"]["reason"]) == ("ungradable", MISSING)
    assert rows["anna"]["student"] == "A, B"
    assert (rows["anna"]["isolation"], rows["anna"]["score"]) == ("weak", 12.0)
    capsys.readouterr()
    assert run("--ledger", str(path), "--exercise", "swiglu", "--isolation", "weak", "--replay", "boris") == OK
    assert capsys.readouterr().out.strip() == "12 of 12 verdicts came out the same."
    assert run("--ledger", str(path), "--replay", "nobody") == CANNOT_START
    assert "knows no submission" in capsys.readouterr().err
    assert (
        commands.regrade(["--ledger", str(path), "--exercise", "swiglu", "--isolation", "weak", "--course", str(ROOT)])
        == OK
    )
    assert "0 gain, 0 lose" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--replay", "x"], "--replay NAME needs --ledger FILE"),
        (["x", "--ledger", "l.db", "--replay", "x"], "--replay NAME needs --ledger FILE and no submission"),
        ([str(ROOT), "--ledger", "/nowhere/l.db"], "--ledger: there is no folder"),
        ([str(ROOT), "--roster", "/nowhere/r.csv"], "--roster: /nowhere/r.csv cannot be read"),
    ],
)
def test_wrong_usage(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*arguments)
    assert ended.value.code == USAGE
    assert says in capsys.readouterr().err


def test_a_ledger_that_is_not_there_is_not_made_by_a_question(tmp_path: Path) -> None:
    assert run("--ledger", str(tmp_path / "l.db"), "--replay", "x") == CANNOT_START
    assert commands.regrade(["--ledger", str(tmp_path / "l.db"), "--course", str(ROOT)]) == CANNOT_START
    assert list(tmp_path.iterdir()) == []
    assert FAILED == 1


def test_fifty_kills_change_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "selftests.killed_grader", str(tmp_path), "50"],
        cwd=ROOT, capture_output=True, encoding="utf-8", timeout=900, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    came = json.loads(done.stdout)
    assert came["killed"] == 50
    assert came["differing"] == []
    assert 0 < min(count for count in came["partial"] if count) < came["verdicts"]
