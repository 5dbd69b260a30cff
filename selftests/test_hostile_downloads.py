"""Names that students choose in a class's download: nobody's work becomes another's, and none stops the class."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from grader.coursework.collecting import collect
from grader.coursework.layouts import item, owners
from grader.coursework.standing import Course, read
from grader.notebooks import allowance
from grader.notebooks.released import released
from grader.roster import Student
from grader.submissions import read_submission
from nanolm.course import exercise_files
from selftests.making_notebooks import ROOT, STEM, STUBS, right, write

COURSE = released(ROOT)
FIRST, SECOND = STEM["rmsnorm"], STEM["swiglu"]
NOTEBOOK, OTHER = json.dumps(right("rmsnorm")), json.dumps(right("swiglu"))


@pytest.fixture
def course(tmp_path: Path) -> Course:
    folder = tmp_path / "course"
    write(folder / "release" / "module06", STUBS)
    return Course(folder, isolation="best")


@pytest.mark.parametrize("name", ["名" * 200, "𝒏" * 160, "n" * 2000, "." * 300, "a/" + "é" * 130])
def test_a_name_longer_than_a_file_may_have_stops_nobody(course: Course, tmp_path: Path, name: str) -> None:
    class_folder = tmp_path / "class"
    write(class_folder / "zoe", {FIRST: right("rmsnorm")})
    with zipfile.ZipFile(class_folder / "anna.zip", "w") as archive:
        archive.writestr(f"{name}.ipynb", "{}")
        archive.writestr(f"{name[:-1]}b.ipynb", "{}")
    done = collect(course, [class_folder], [])
    assert done.students == ["anna", "zoe"]
    assert all(len(path.name.encode()) < 256 for path in course.submitted("anna").iterdir())
    assert read(course, "anna").ungradable
    assert read(course, "zoe").ungradable is None


def test_a_file_name_does_not_make_the_work_anothers() -> None:
    """Canvas puts a student's own name for a file behind what it knows of the student."""
    entry = f"doemal_4711_99_anna_12_assignsubmission_file_{FIRST}.ipynb"
    found = item(entry, COURSE)
    assert found.who == "doemal_4711"
    assert owners([found.who], [Student("anna", "Anna Berg"), Student("m1", "Mal Doe")]) == {"doemal_4711": "m1"}


def test_an_id_that_is_a_word_of_anothers_name_is_nobodys_claim() -> None:
    roster = [Student("anna", "Anna Berg"), Student("s2", "Anna Schmidt")]
    assert owners(["Anna Schmidt_4712"], roster) == {}
    assert owners(["anna_4713", "Anna Berg_4711"], roster) == {"anna_4713": "anna", "Anna Berg_4711": "anna"}


def test_entries_under_several_names_for_one_student_are_told(course: Course, tmp_path: Path) -> None:
    class_folder = tmp_path / "class"
    for who, notebook in (("Anna Berg_4711", NOTEBOOK), ("Mal anna_4712", OTHER)):
        (class_folder / f"{who}_assignsubmission_file_").mkdir(parents=True)
        stem = FIRST if notebook is NOTEBOOK else SECOND
        (class_folder / f"{who}_assignsubmission_file_" / f"{stem}.ipynb").write_text(notebook, encoding="utf-8")
    done = collect(course, [class_folder], [Student("anna", "Anna Berg"), Student("m1", "Mal Doe")])
    told = [line for line in done.remarks if "Anna Berg_4711" in line and "Mal anna_4712" in line]
    assert len(told) == 1
    notes = " ".join(read(course, "anna").notes)
    assert "entries under 2 names" in notes
    assert "Mal" not in notes


def test_one_student_in_several_files_is_nothing_to_tell(course: Course, tmp_path: Path) -> None:
    class_folder = tmp_path / "class"
    class_folder.mkdir()
    (class_folder / f"bergann_4711_98_{FIRST}.ipynb").write_text(NOTEBOOK, encoding="utf-8")
    (class_folder / f"bergann_LATE_4711_99_{SECOND}.ipynb").write_text(OTHER, encoding="utf-8")
    assert collect(course, [class_folder], [Student("anna", "Ann Berg")]).remarks == []


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        (b"2026-12-07 23:59:00.123456 UTC\n", True),
        (b"2026-12-07 23:59:00 America/Los_Angeles", True),
        (b"2026-12-07 23:59:00.5 +0300", True),
        (b"", False),
        (b"yesterday", False),
        (b"2026-13-07 23:59:00 UTC", False),
        (b"0001-01-01 00:00:00 +0900", False),
        (b"2026-12-07 23:59:00 /proc/self/environ", False),
        (b"2026-12-07 23:59:00 ../../etc/x", False),
        ("2026-12-07 23:59:00 UTC".encode("utf-16"), False),
        (b"2" * 2000, False),
    ],
)
def test_a_time_that_is_none_costs_no_grade(course: Course, tmp_path: Path, said: bytes, counts: bool) -> None:
    """nbgrader would end with an exception on such a file, and there would be no grade."""
    folder = write(tmp_path / "class" / "anna", {FIRST: right("rmsnorm")})
    (folder / "timestamp.txt").write_bytes(said)
    collect(course, [tmp_path / "class"], [])
    submission = read(course, "anna")
    assert (course.submitted("anna") / "timestamp.txt").exists() is counts
    assert any("timestamp.txt" in note for note in submission.notes) is not counts
    assert submission.ungradable is None


@pytest.mark.parametrize(("limit", "value"), [("MOST_NOTEBOOKS", 5), ("MOST_BYTES", 400_000)])
def test_a_small_zip_of_gigabytes_takes_neither_time_nor_disk(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(allowance, limit, value)
    big = json.dumps({"cells": [], "filler": "a" * 100_000})
    (tmp_path / "class").mkdir()
    with zipfile.ZipFile(tmp_path / "class" / "anna.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{FIRST}.ipynb", NOTEBOOK)
        for number in range(30):
            archive.writestr(f"filler {number:02}.ipynb", big)
    direct = read_submission(tmp_path / "class" / "anna.zip", exercise_files(), released=COURSE)
    assert sum("one submission may hold" in note for note in direct.notes) == 1
    write(tmp_path / "class" / "zoe", {FIRST: right("rmsnorm")})
    collect(course, [tmp_path / "class"], [])
    assert sum(path.stat().st_size for path in course.submitted("anna").iterdir()) < 700_000
    assert any("one submission may hold" in note for note in read(course, "anna").notes)
    assert read(course, "anna").files == read(course, "zoe").files
