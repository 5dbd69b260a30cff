"""`nanolm report`: every format byte for byte, and read back the way its consumer reads it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from grader.reports.autolab import autolab
from grader.reports.command import FORMATS, command
from grader.reports.exercism import exercism, read_test_code
from grader.reports.gradescope import gradescope
from grader.results import SubmissionResult
from nanolm.protocol import Outcome
from nanolm.verdict import Verdict
from selftests.report_cases import CANVAS, CASES, GOLDEN, GRADES, ROSTER, WORKSHEET, made
from selftests.report_readers import (
    ExercismResults,
    GradescopeResults,
    autolab_reads,
    canvas_reads,
    moodle_import_reads,
    worksheet_reads,
)

ROOT = Path(__file__).resolve().parent.parent
NEW = "Module 6, graded (812)"


def golden(name: str) -> str:
    return (GOLDEN / name).read_bytes().decode("utf-8")


@pytest.mark.parametrize("name", CASES)
def test_the_golden_files(tmp_path: Path, name: str) -> None:
    status, content = made(name, tmp_path)
    assert content.decode("utf-8") == golden(name)
    assert status == CASES[name][0]


# ── Platforms ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["gradescope.json", "gradescope_hostile.json"])
def test_gradescope_takes_a_grade(name: str) -> None:
    results = msgspec.json.decode(golden(name), type=GradescopeResults)
    assert results.has_score
    assert isinstance(results.tests, list)
    assert sum(test.max_score for test in results.tests) == 20
    earned = sum(test.score for test in results.tests)
    assert results.score == {"gradescope.json": 14.5, "gradescope_hostile.json": 7.0}[name]
    assert results.extra_data["earned"] == earned
    assert {results.output_format, results.test_output_format, results.test_name_format} == {"text"}
    assert "leaderboard" not in golden(name)


def test_gradescope_gets_no_score_where_there_is_no_grade() -> None:
    results = msgspec.json.decode(golden("gradescope_ungradable.json"), type=GradescopeResults)
    assert not results.has_score
    assert "no grade" in results.output
    assert "not UTF-8" in results.output


def test_autolab_takes_the_last_line_whatever_a_student_prints() -> None:
    assert autolab_reads(golden("autolab.txt")) == {"rmsnorm": 1.0, "elementwise": 6.0}
    assert autolab_reads(golden("autolab_ungradable.txt")) == {"rmsnorm": None}
    *feedback, layout, _ = golden("autolab.txt").rstrip().splitlines()
    assert not any(line.startswith("{") for line in feedback)
    assert json.loads(layout)["stages"] == ["rmsnorm", "elementwise"]
    assert "script" not in layout


def test_exercism_takes_version_3(tmp_path: Path) -> None:
    results = msgspec.json.decode(golden("exercism.json"), type=ExercismResults)
    assert (results.status, results.message) == ("fail", None)
    assert {test.status for test in results.tests} == {"pass", "error"}
    assert all((test.message is None) == (test.status == "pass") for test in results.tests)
    ungradable = msgspec.json.decode(golden("exercism_ungradable.json"), type=ExercismResults)
    assert ungradable.status == "error"
    assert ungradable.message


def test_exercism_shows_the_code_of_each_test(tmp_path: Path) -> None:
    command([*CASES["exercism.json"][1], "-o", str(tmp_path / "r.json"), "--course", str(ROOT)])
    results = msgspec.json.decode((tmp_path / "r.json").read_bytes(), type=ExercismResults)
    code = read_test_code(ROOT)
    assert all(test.test_code for test in results.tests)
    assert "y = rms_norm(" in code["tests/test_modules.py::test_rmsnorm_worked_example"]
    assert not any("def test_" in body for body in code.values())


def test_a_test_that_was_not_run_is_neither_passed_nor_failed() -> None:
    verdicts = (
        Verdict("tests/t.py::test_a", "swiglu", Outcome.PASSED, 2.0, 2.0),
        Verdict("tests/t.py::test_gpu", "swiglu", Outcome.NOT_RUN_HERE, 0.0, 0.0),
    )
    result = SubmissionResult("a", verdicts, 2.0)
    data = msgspec.convert(gradescope(result), GradescopeResults)
    assert isinstance(data.tests, list)
    assert [test.status for test in data.tests] == ["passed", msgspec.UNSET]
    assert [test["status"] for test in exercism(result)["tests"]] == ["pass"]
    assert exercism(result)["status"] == "pass"
    everything_fails = SubmissionResult("a", (Verdict("t::b", "swiglu", Outcome.EXCEPTION, 0.0, 2.0, "no"),), 2.0)
    assert (exercism(everything_fails)["status"], exercism(everything_fails)["message"]) == ("error", "no")
    assert autolab_reads(autolab(everything_fails)) == {"swiglu": 0.0}


def test_a_build_server_reads_the_junit_file(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    assert command(["junit", GRADES, "-o", str(path)]) == 3
    top = ElementTree.parse(path).getroot()
    assert (top.get("errors"), len(top.findall("testsuite"))) == ("1", 13)
    assert "<script>" not in path.read_text(encoding="utf-8")


# ── Gradebooks ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_canvas_takes_the_filled_export() -> None:
    before, after = canvas_reads(golden("canvas_export.csv")), canvas_reads(golden("canvas_filled.csv"))
    assert after.pop(NEW) == {
        "101": "20", "102": "16.5", "103": "6", "104": "17.00", "105": "EX", "106": "N/A", "107": "", "199": "",
    }  # fmt: skip
    del before[NEW]
    assert after == before


def test_only_the_filled_cells_differ() -> None:
    for before, after, count in (
        ("canvas_export.csv", "canvas_filled.csv", 3),
        ("worksheet.csv", "worksheet_filled.csv", 6),
    ):
        old, new = ([*csv.reader(io.StringIO(golden(name), newline=""))] for name in (before, after))
        changed = [(i, j) for i, row in enumerate(old) for j, cell in enumerate(row) if new[i][j] != cell]
        assert len(changed) == count
        assert golden(after).startswith("\ufeff")
        assert golden(after).count("\r\n") == golden(before).count("\r\n")


def test_canvas_takes_the_plain_file() -> None:
    assert canvas_reads(golden("canvas_plain.csv"))["Module 6"] == {
        "a100": "20", "b.petrov@example.org": "14.5", "4711": "6", "d400": "", "=e500": "0", "f600": "7", "g700": "",
    }  # fmt: skip
    assert "cmd" not in golden("canvas_plain.csv")


def test_moodle_takes_the_worksheet() -> None:
    assert worksheet_reads(golden("worksheet_filled.csv")) == {"4711": 6.0, "4712": 20.0, "4713": 16.5, "4714": 17.0}


def test_moodle_imports_no_zero_for_a_missing_grade() -> None:
    roster = {line.split(",")[0] for line in golden("roster.csv").splitlines()[1:]}
    grades = moodle_import_reads(golden("moodle_plain.csv"), roster, "Module 6")
    assert grades == {
        "a100": 20.0, "b.petrov@example.org": 14.5, "4711": 6.0, "d400": None, "=e500": 0.0, "f600": 7.0, "g700": None,
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(golden("moodle_plain.csv"))))
    assert [row["Status"] for row in rows] == [
        "graded", "graded", "graded", "ungradable", "graded", "graded", "missing",
    ]  # fmt: skip


def test_the_table_is_safe_in_a_spreadsheet() -> None:
    for row in csv.reader(io.StringIO(golden("table.csv").removeprefix("\ufeff"))):
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row), row
    assert "Борис Петров" in golden("table.csv")


# ── The command ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_help_names_every_format_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command(["--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    for name, each in FORMATS.items():
        assert each.example in shown
        assert each.example.startswith(f"nanolm report {name} ")
        with pytest.raises(SystemExit):
            command([name, "--help"])
        assert each.example in capsys.readouterr().out


def test_what_was_left_out_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    assert command(["canvas", GRADES, *ROSTER, *CANVAS]) == 3
    out, err = capfd.readouterr()
    assert out == golden("canvas_filled.csv")
    for told in (
        "7 of 8 students were found, by SIS User ID (7).",
        "Grades that stood there and changed (1): b.petrov@example.org 18.00 → 16.5.",
        "d400 (ungradable), =e500 (excused), f600 (not assigned), g700 (missing)",
        "Not in the gradebook, so their grades are nowhere (1): =cmd|",
    ):
        assert told in err
    assert command(["moodle", GRADES, *ROSTER, *WORKSHEET]) == 3
    assert "by hand" in capfd.readouterr().out  # comments are replaced only where that was asked for


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["csv"], "name the grades"),
        (["csv", GRADES, "--ledger", "x.db"], "name the grades"),
        (["csv", "nowhere.json"], "cannot be read"),
        (["csv", GRADES, "--roster", "nowhere.csv"], "cannot be read"),
        (["gradescope", GRADES], "--submission NAME"),
        (["gradescope", GRADES, "--submission", "x\x1b"], "no submission 'x\\\\x1b'"),
        (["csv", GRADES, "--late", "10% per day"], "needs --due"),
        (["csv", GRADES, "--late", "10% per day", "--due", "2026-12-01T00:00Z"], "needs --submitted"),
        (["csv", GRADES, "--due", "2026-12-01T00:00Z"], "without --late"),
        (["csv", GRADES, "--exercise", "rmsnorm"], "--exercise chooses of a ledger"),
        (["moodle", GRADES, "--comments"], "worksheet"),
        (["canvas", GRADES, "--assignment", "x", "--match", "Section"], "ids can go into"),
        (["canvas", GRADES, "--assignment", "x", *CANVAS[:2]], "no assignment called 'x'"),
        (["canvas", GRADES, "--assignment", "x", *WORKSHEET], "no gradebook of Canvas"),
        (["moodle", GRADES, *CANVAS[:2]], "no grading worksheet"),
    ],
)
def test_wrong_usage_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    target = tmp_path / "out"
    target.write_text("old")
    assert command([*arguments, "-o", str(target)]) == 2
    assert says in capsys.readouterr().err
    assert target.read_text() == "old"


def test_a_ledger_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["csv", "--ledger", str(tmp_path / "no.db")]) == 4
    assert "no ledger" in capsys.readouterr().err
