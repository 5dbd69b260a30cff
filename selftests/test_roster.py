"""The roster: read however it was saved, everybody on it found again by name, nobody left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading import MISSING, with_roster
from grader.results import SubmissionResult
from grader.roster import RosterError, Student, assign, read_roster
from grader.session import Settings
from nanolm.protocol import Outcome
from nanolm.verdict import Verdict

SETTINGS = Settings(Path(), ("swiglu",))
VERDICT = Verdict("tests/t.py::test_a", "swiglu", Outcome.PASSED, 2.0, 2.0)


@pytest.mark.parametrize(
    "text",
    [
        'id,name\na1,"Doe, Jane"\nb2,Борис\n',
        'Name;ID\r\n"Doe, Jane";a1\r\nБорис;b2\r\n\r\n',
        "\ufeffstudent_id\tname\na1\tDoe, Jane\nb2\tБорис",
        'id,name\ra1,"Doe, Jane"\rb2,Борис\r',
    ],
)
def test_a_roster_is_read_however_it_was_saved(tmp_path: Path, text: str) -> None:
    path = tmp_path / "roster.csv"
    path.write_text(text, encoding="utf-8")
    assert read_roster(path) == [Student("a1", "Doe, Jane"), Student("b2", "Борис")]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"id,name\n", "names nobody"),
        (b"nom,prenom\na,b\n", "no column `id`"),
        (b"id,name\na,x\nA,y\n", "line 3: the id 'A' stands there twice"),
        (b"id,name\n,x\n", "line 2 has no id"),
        (b"id,name\na,\xe9\n", "is not UTF-8"),
        (b'id,name\n"a\n1",x\n"a\n1",y\n', "line 5: the id"),
        (b"id,name\na," + b"x" * 200_000, "line 2 is not CSV"),
    ],
)
def test_a_roster_that_cannot_be_used_says_why(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "roster.csv"
    path.write_bytes(content)
    with pytest.raises(RosterError, match=says):
        read_roster(path)
    with pytest.raises(RosterError, match="cannot be read"):
        read_roster(tmp_path / "none.csv")


def test_submissions_find_their_students() -> None:
    students = [Student("4711", "A"), Student("471", "B"), Student("anna.b-c", "C"), Student("zoe", "D")]
    names = ["4711", "Doe Jane_4711_assignsubmission_file", "47112", "anna.b-c_late", "ZOE", "zoe_and_4711", "x"]
    found = assign(students, names)
    assert {name: student.name for name, student in found.items()} == {
        "4711": "A", "Doe Jane_4711_assignsubmission_file": "A", "anna.b-c_late": "C", "ZOE": "D",
    }  # fmt: skip


def test_everybody_on_the_roster_gets_a_row() -> None:
    results = [SubmissionResult("b2", (VERDICT,), 12), SubmissionResult("stranger", (VERDICT,), 12)]
    rows = with_roster(results, [Student("a1", "Jane"), Student("b2", "Борис")], SETTINGS)
    assert [(row.name, row.student, row.ungradable) for row in rows] == [
        ("a1", "Jane", MISSING), ("b2", "Борис", None), ("stranger", "", None),
    ]  # fmt: skip
    assert rows[0].max_score == 12
    assert rows[2].notes == ("Nobody on the roster has this id.",)
    twice = with_roster([results[0], replace(results[0], name="x_b2")], [Student("b2", "")], SETTINGS)
    assert [len(row.notes) for row in twice] == [1, 1]


def test_names_are_compared_as_they_are_shown() -> None:
    students = [
        Student("Zo\u00eb", "A"),
        Student("x\ny", "B"),
        Student("n" * 250 + "1", "C"),
        Student("n" * 250 + "2", "D"),
    ]
    found = assign(students, ["Zoe\u0308", "x\\x0ay", "n" * 250 + "2"])
    assert [student.name for student in found.values()] == ["A", "B", "D"]


def test_an_id_of_the_roster_is_made_printable() -> None:
    (row,) = with_roster([], [Student("a\x1b[31m", "")], SETTINGS)
    assert row.name == "a\\x1b[31m"
