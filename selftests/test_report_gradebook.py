"""Filling in somebody else's gradebook: whom it finds, what it leaves alone, and when it must not be filled at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.late import Deadline, LatePolicy
from grader.reports import canvas, moodle
from grader.reports.cells import SheetError, read_sheet
from grader.reports.gradebook import Filled
from grader.reports.rows import Row, class_rows, comment, read_extensions, read_times, without_time
from grader.results import SubmissionResult
from grader.roster import Student
from nanolm.protocol import Outcome
from nanolm.verdict import Verdict

HEADER = "Student,ID,SIS User ID,SIS Login ID,Section,Task (7)\n    Points Possible,,,,,12\n"


def result(name: str, score: float = 12.0, full: float = 12.0) -> SubmissionResult:
    return SubmissionResult(name, (Verdict("tests/t.py::test_a", "swiglu", Outcome.PASSED, score, full),), full)


def rows(*names: str, **scores: float) -> list[Row]:
    return class_rows([result(name, scores.get(name, 12.0)) for name in names])


def fill_canvas(tmp_path: Path, students: str, given: list[Row], header: str = HEADER, **options: object) -> Filled:
    path = tmp_path / "export.csv"
    path.write_text(header + students, encoding="utf-8")
    return canvas.filled(read_sheet(path, canvas.NEEDS), given, str(options.pop("assignment", "Task")), **options)  # type: ignore[arg-type]


def told(filled: Filled, text: str) -> bool:
    return any(text in remark for remark in filled.remarks)


def test_students_are_found_by_any_id_that_the_gradebook_has(tmp_path: Path) -> None:
    students = "A,1,u1,login-a,S,\nB,2,,LOGIN-B,S,\nC,3,,c@x.org,S,\nD,4,,Zoe\u0308,S,\n"
    filled = fill_canvas(tmp_path, students, rows("u1", "login-b", "c", "Zoë", "u9"))
    assert filled.text == HEADER + students.replace(",S,\n", ",S,12\n")
    assert told(
        filled, "4 of 5 students were found, by SIS User ID (1), SIS Login ID (2), SIS Login ID before the @ (1)."
    )
    assert told(filled, "nowhere (1): u9")
    assert not filled.complete


def test_a_student_whom_two_columns_find_in_different_rows_is_not_filled(tmp_path: Path) -> None:
    students = "A,1,77,a,S,\nB,2,b,77,S,5\nC,3,c,c,S,\n"
    filled = fill_canvas(tmp_path, students, rows("77", "c"))
    assert filled.text == HEADER + "A,1,77,a,S,\nB,2,b,77,S,5\nC,3,c,c,S,12\n"
    assert told(filled, "none was filled (--match helps) (1): 77")
    assert not filled.complete
    chosen = fill_canvas(tmp_path, students, rows("77", "c"), match="SIS User ID")
    assert chosen.text == HEADER + "A,1,77,a,S,12\nB,2,b,77,S,5\nC,3,c,c,S,12\n"


def test_an_id_that_stands_there_twice_is_nobodys(tmp_path: Path) -> None:
    students = "A,1,same,,S,\nB,2,same,,S,\nC,3,c,,S,\n"
    filled = fill_canvas(tmp_path, students, rows("same", "c"))
    assert filled.text == HEADER + students.replace("c,,S,", "c,,S,12")
    assert told(filled, "fit several rows of the gradebook, or one with somebody else")


def test_two_submissions_for_one_row_fill_none(tmp_path: Path) -> None:
    filled = fill_canvas(tmp_path, "A,1,u1,,S,\nC,3,c,,S,\n", rows("u1", "late_u1", "c"))
    assert filled.text == HEADER + "A,1,u1,,S,\nC,3,c,,S,12\n"
    several = class_rows([result("u1"), result("late_u1")], [Student("u1", "")])
    assert [row.status for row in several] == ["several", "several"]
    assert [row.score for row in several] == [None, None]


def test_canvass_own_number_is_an_id_only_where_there_is_no_other(tmp_path: Path) -> None:
    students = "A,1,u1,,S,\n"
    with pytest.raises(SheetError, match="no student was found by SIS User ID, SIS Login ID"):
        fill_canvas(tmp_path, students, rows("1"))
    assert fill_canvas(tmp_path, students, rows("1"), match="ID").text.endswith("S,12\n")
    short = "Student,ID,Section,Task (7)\n"
    assert fill_canvas(tmp_path, "A,1,S,\n", rows("1"), header=short).text == short + "A,1,S,12\n"


def test_no_grade_leaves_what_stands_there(tmp_path: Path) -> None:
    given = rows("u1", "u2")
    given[0] = replace(given[0], status="ungradable", result=replace(given[0].result, ungradable="no"))
    filled = fill_canvas(tmp_path, "A,1,u1,,S,8.5\nB,2,u2,,S,\n", given)
    assert filled.text == HEADER + "A,1,u1,,S,8.5\nB,2,u2,,S,12\n"
    assert told(filled, "Left as they were (1): u1 (ungradable)")


@pytest.mark.parametrize(("sign", "quoted"), [(";", False), ("\t", False), (",", True)])
def test_delimiters_and_quotes_stay(tmp_path: Path, sign: str, quoted: bool) -> None:
    lines = [line.split(",") for line in (HEADER + 'A,1,u1,,S,"8,5"\n').replace('"8,5"', "8.5").splitlines()]
    text = "\r\n".join(sign.join(f'"{cell}"' if quoted else cell for cell in line) for line in lines)
    filled = fill_canvas(tmp_path, "", rows("u1"), header=text)
    assert filled.text == text.replace("8.5", "12")


def test_another_maximum_is_refused_or_converted(tmp_path: Path) -> None:
    header = HEADER.replace(",12\n", ",100.00\n")
    with pytest.raises(SheetError, match="out of 100 points, these grades are out of 12"):
        fill_canvas(tmp_path, "A,1,u1,,S,\n", rows("u1", u1=8), header=header)
    assert fill_canvas(tmp_path, "A,1,u1,,S,\n", rows("u1", u1=8), header=header, scale=True).text.endswith("S,66.67\n")
    mixed = class_rows([result("u1"), result("u2", 1, 20)])
    with pytest.raises(SheetError, match="different maxima"):
        fill_canvas(tmp_path, "A,1,u1,,S,\n", mixed)


def test_the_assignment_is_named_in_any_way_that_names_one(tmp_path: Path) -> None:
    header = "Student,ID,SIS User ID,SIS Login ID,Section,Task (7),Task (8),Other (9),Final Score\n"
    header += "    Points Possible,,,,,12,12,12,(read only)\n"
    for name, line in (("Task (7)", "12,,,"), ("8", ",12,,"), ("other", ",,12,")):
        filled = fill_canvas(tmp_path, "A,1,u1,,S,,,,\n", rows("u1"), header=header, assignment=name)
        assert filled.text == f"{header}A,1,u1,,S,{line}\n"
    for name, says in (("Task", "several assignments"), ("Final Score", "no assignment"), ("Section", "no assignment")):
        with pytest.raises(SheetError, match=says):
            fill_canvas(tmp_path, "A,1,u1,,S,,,,\n", rows("u1"), header=header, assignment=name)


# ── Moodle ───────────────────────────────────────────────────────────────────────────────────────────────────────────

WORKSHEET = "Identifier,Full name,Email address,Grade,Maximum Grade,Grade can be changed,Last modified (grade)\n"


def fill_moodle(tmp_path: Path, text: str, given: list[Row], **options: object) -> Filled:
    path = tmp_path / "worksheet.csv"
    path.write_text(text, encoding="utf-8")
    return moodle.filled(read_sheet(path, moodle.NEEDS), given, **options)  # type: ignore[arg-type]


def test_a_participants_number_counts_in_names_of_the_bulk_download_only(tmp_path: Path) -> None:
    text = WORKSHEET + "Participant 12,A,a@x.org,,12.00,Yes,-\nParticipant 13,B,b@x.org,,12.00,Yes,-\n"
    filled = fill_moodle(tmp_path, text, rows("Name_12_assignsubmission_file", "b"))
    assert filled.text.count(",12,12.00,") == 2
    with pytest.raises(SheetError, match="no student was found"):
        fill_moodle(tmp_path, text, rows("12"))
    assert ",12,12.00," in fill_moodle(tmp_path, text, rows("12"), match="Identifier").text


def test_a_locked_grade_and_a_scale_are_left_alone(tmp_path: Path) -> None:
    text = WORKSHEET + "Participant 12,A,a@x.org,,12.00,No,-\nParticipant 13,B,b@x.org,,12.00,Yes,-\n"
    filled = fill_moodle(tmp_path, text, rows("a", "b"))
    assert told(filled, "a (locked)")
    assert filled.text.count(",12,12.00,") == 1
    with pytest.raises(SheetError, match="scale"):
        fill_moodle(tmp_path, text.replace("Maximum Grade", "Scale"), rows("a"))
    for maximum in ("a lot", "11.00\nParticipant 14,C,c@x.org,,12.00"):
        with pytest.raises(SheetError, match="not one number for all"):
            fill_moodle(tmp_path, text.replace("12.00", maximum, 1), rows("a"))
    with pytest.raises(SheetError, match="out of 10 points"):  # Moodle would pass over 12 of 10 without a word
        fill_moodle(tmp_path, text.replace("12.00", "10.00"), rows("a"))
    with pytest.raises(SheetError, match="Feedback comments"):
        fill_moodle(tmp_path, text, rows("a"), comments=True)


def test_an_exported_gradebook_is_filled_where_it_is_told(tmp_path: Path) -> None:
    text = 'First name,ID number,"Assignment: Task (Real)",Last downloaded from this course\nA,a1,-,17\nB,b1,-,17\n'
    filled = fill_moodle(tmp_path, text, rows("a1"), assignment="assignment: task (real)")
    assert filled.text == text.replace("a1,-", "a1,12")


# ── Lateness and comments ────────────────────────────────────────────────────────────────────────────────────────────


def test_lateness_is_found_by_the_rosters_ids(tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text("id,submitted\nu1,2026-12-02T12:00Z\nU2,2026-12-02T12:00Z\nu3,\n")
    (tmp_path / "more.csv").write_text("id;hours\nu2;12\n")
    due = datetime(2026, 12, 1, 12, tzinfo=UTC)
    times, more = read_times(tmp_path / "times.csv"), read_extensions(tmp_path / "more.csv")
    deadline = Deadline(LatePolicy(25), due, times, more)
    students = [Student("u1", "A"), Student("u2", "B"), Student("u3", "C"), Student("u4", "D")]
    given = class_rows([result("x_u1"), result("u2"), result("u3")], students, deadline)
    assert [(row.key, row.score) for row in given] == [("u1", 9.0), ("u2", 9.0), ("u3", 12.0), ("u4", None)]
    assert without_time(given, deadline) == ["u3"]
    assert without_time(given, replace(deadline, policy=LatePolicy())) == []
    assert "late: 3 points off" in comment(given[0])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,when\nu1,x\n", "needs the columns"),
        ("id,submitted\nu1,yesterday\n", "line 2: 'yesterday' is not a time"),
        ("id,submitted\nu1,2026-12-01T00:00\n", "time zone"),
        ("id,submitted\nu1,2026-12-01T00:00Z\nU1,2026-12-01T00:00Z\n", "line 3: the id 'U1' stands there twice"),
    ],
)
def test_a_list_of_times_that_cannot_be_used_says_why(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "times.csv").write_text(text)
    with pytest.raises(SheetError, match=says):
        read_times(tmp_path / "times.csv")


@pytest.mark.parametrize("hours", ["-1", "many", "nan", "99999"])
def test_an_extension_is_a_number_of_hours(tmp_path: Path, hours: str) -> None:
    (tmp_path / "more.csv").write_text(f"id,hours\nu1,{hours}\n")
    with pytest.raises(SheetError, match="no number of hours"):
        read_extensions(tmp_path / "more.csv")


def test_a_comment_holds_no_text_of_a_students() -> None:
    verdict = Verdict("tests/t.py::a", "swiglu", Outcome.EXCEPTION, 0.0, 12.0, "<script>", notes=("<b>",))
    (row,) = class_rows([SubmissionResult("<i>", (verdict,), 12.0, notes=("<u>",))])
    assert comment(row) == "swiglu 0 / 12."
    (row,) = class_rows([SubmissionResult("x", (), 12.0, ungradable="<p> is not UTF-8")])
    assert "<" not in comment(row)
