"""Grades read back: the JSON gives the results that wrote it, the ledger the newest of a round, and neither a guess."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.ledger import Circumstances, Entry, Ledger, LedgerError
from grader.reports.command import command
from grader.reports.reading import GradesError, read_grades, read_ledger
from grader.results import grade_data
from grader.sandbox import Level
from nanolm.course import EXERCISES
from nanolm.protocol import Outcome
from nanolm.verdict import Verdict
from selftests.making_submissions import folder
from selftests.report_cases import GRADES
from selftests.running_grade import ANSWERS, ROOT, nanolm

DATA: dict[str, Any] = json.loads(Path(GRADES).read_text(encoding="utf-8"))


def test_the_json_comes_back_as_it_was() -> None:
    assert json.loads(json.dumps(grade_data(read_grades(Path(GRADES))))) == DATA


def written(tmp_path: Path, **changes: Any) -> Path:
    path = tmp_path / "grades.json"
    path.write_text(json.dumps(DATA | changes), encoding="utf-8")
    return path


def test_unknown_keys_are_ignored(tmp_path: Path) -> None:
    more = json.loads(json.dumps(DATA).replace('"isolation"', '"new": 1, "isolation"'))
    assert read_grades(written(tmp_path, submissions=more["submissions"], also=2)) == read_grades(Path(GRADES))


def changed(**changes: Any) -> list[dict[str, Any]]:
    return [DATA["submissions"][0] | changes, *DATA["submissions"][1:]]


def exercises(**changes: Any) -> list[dict[str, Any]]:
    first = DATA["submissions"][0]["exercises"]
    return [first[0] | changes, *first[1:]]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"schema": "nanolm.grade/2"}, "this version reads 'nanolm.grade/1'"),
        ({"submissions": None}, "holds no grades"),
        ({"submissions": changed(score=19.0)}, "a100 do not add up"),
        ({"submissions": changed(max_score=100.0)}, "do not add up"),
        ({"submissions": changed(score="20")}, "holds no grades"),
        ({"submissions": changed(score=-1.0)}, "holds no grades"),
        ({"submissions": changed(status="perfect")}, "holds no grades"),
        ({"submissions": changed(exercises=exercises(id="x\x1b"))}, r"exercise 'x\\\\x1b', which is none"),
        ({"submissions": changed(exercises=exercises(score=1.0))}, "rmsnorm do not add up"),
        ({"submissions": [*DATA["submissions"], DATA["submissions"][1]]}, "b.petrov@example.org twice"),
        (
            {
                "submissions": changed(
                    exercises=exercises(mistakes=[{"id": "x-y", "evidence": "output", "message": ""}])
                )
            },
            "no mistake 'x-y'",
        ),
    ],
)
def test_grades_that_cannot_be_right_are_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(GradesError, match=says):
        read_grades(written(tmp_path, **changes))


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"{" * 100_000, b'{"schema": "nanolm.grade/1"}'])
def test_what_is_no_json_of_ours_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "grades.json"
    path.write_bytes(content)
    with pytest.raises(GradesError, match="holds no grades"):
        read_grades(path)
    with pytest.raises(GradesError, match="cannot be read"):
        read_grades(tmp_path)


# ── The ledger ───────────────────────────────────────────────────────────────────────────────────────────────────────

OLD, NEW = (Circumstances(bundle, "software", "week6:aa") for bundle in ("old tests", "new tests"))
FULL = EXERCISES["swiglu"].points


def entry(digest: str, test: str, score: float, at: Circumstances = NEW, full: float = FULL / 2) -> Entry:
    verdict = Verdict(f"tests/t.py::{test}", "swiglu", Outcome.PASSED if score else Outcome.WRONG_VALUE, score, full)
    return Entry(digest, at, Level.FULL, 1, verdict)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "week6.db"
    with Ledger(path) as ledger:
        for name, digest, texts in (
            ("anna", "a1", {"modules.py": "x"}), ("anna", "a2", {"modules.py": "y"}),
            ("boris", "b1", {"modules.py": "z"}), ("chen", "c1", {}), ("dana", "d1", {"modules.py": "w"}),
        ):  # fmt: skip
            ledger.receive(name, digest, "week6:aa", texts | {"config.py": ""}, {} if texts else {"modules.py": "No."})
        ledger.record(entry("b1", "one", 6.0, OLD))
        ledger.record(entry("b1", "two", 6.0, OLD))
        ledger.record(entry("a1", "one", 6.0))
        for digest, two in (("a2", 0.0), ("b1", 6.0)):
            ledger.record(entry(digest, "two", two))
            ledger.record(entry(digest, "one", 6.0))
        ledger.record(entry("d1", "one", 6.0))
    return path


def test_a_ledger_gives_the_newest_of_a_round(ledger: Path) -> None:
    anna, boris, chen, dana = read_ledger(ledger, "week6", ("swiglu",))
    assert [(one.name, one.score, one.max_score, one.isolation) for one in (anna, boris)] == [
        ("anna", 6.0, FULL, "full"), ("boris", 12.0, FULL, "full"),
    ]  # fmt: skip
    assert [verdict.test.rpartition("::")[2] for verdict in anna.verdicts] == ["two", "one"]
    assert chen.ungradable == "No."
    assert (dana.verdicts, dana.max_score) == ((), FULL)
    assert dana.ungradable is not None
    assert "not all verdicts for swiglu" in dana.ungradable


def test_an_exercise_that_was_not_graded_is_no_zero(ledger: Path) -> None:
    assert all(one.ungradable for one in read_ledger(ledger, "week6"))


def test_old_verdicts_do_not_stand_in_for_new_ones(ledger: Path) -> None:
    with Ledger(ledger) as opened:
        opened.receive("elif", "e1", "week6:aa", {"modules.py": "v"}, {})
        opened.record(replace(entry("e1", "one", 6.0), circumstances=OLD))
        opened.record(entry("b2", "one", 6.0))
    *_, elif_ = read_ledger(ledger, "week6", ("swiglu",))
    assert elif_.ungradable


def test_which_round_is_told_or_asked(ledger: Path, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no round 'week7': name one of these with --round: week6"):
        read_ledger(ledger, "week7")
    with Ledger(ledger) as opened:
        opened.receive("anna", "a1", "week6:bb", {"modules.py": "x"}, {})
        opened.receive("anna", "a1", "week8:bb", {"modules.py": "x"}, {})
    with pytest.raises(LedgerError, match="2 rounds 'week6', under different secrets"):
        read_ledger(ledger, "week6")
    with pytest.raises(LedgerError, match="no verdict of round 'week8' yet"):
        read_ledger(ledger, "week8")
    with pytest.raises(LedgerError, match="there is no ledger"):
        read_ledger(tmp_path / "none.db", "week6")


def test_the_ledger_and_the_json_of_one_run_give_the_same_reports(tmp_path: Path) -> None:
    centering = (ROOT / "mistakes" / "rejected" / "rmsnorm" / "centering.py").read_text(encoding="utf-8")
    latin = {"modules.py": "# Lösung\n".encode("latin-1")}
    for name, files in {"anna": ANSWERS, "boris": {"modules.py": centering}, "chen": latin}.items():
        folder(tmp_path / "class" / name, files)
    only = ["--exercise", "rmsnorm"]
    ran = nanolm("grade", "--class", tmp_path / "class", "--json", tmp_path / "grades.json", "--ledger",
                 tmp_path / "week6.db", "--round", "week6", "--isolation", "best", *only, cwd=tmp_path)  # fmt: skip
    assert ran.returncode == 3, ran.stderr
    for report in (["csv"], ["gradescope", "--submission", "boris"], ["autolab", "--submission", "boris"]):
        made = []
        for source in (
            [str(tmp_path / "grades.json")],
            ["--ledger", str(tmp_path / "week6.db"), "--round", "week6", *only],
        ):
            assert command([*report, *source, "-o", str(tmp_path / "out")]) == (3 if report == ["csv"] else 0)
            text = (tmp_path / "out").read_text(encoding="utf-8")
            assert len(text) > 200
            made.append(re.sub(r'"execution_time": [\d.]+', "", text))
        assert made[0] == made[1]
