"""One class folder with every kind of broken submission, graded once by the real command: nobody stops the batch."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grader.ledger import Ledger
from grader.linux import PR_CAPBSET_DROP
from selftests.broken import POINTS, Kind, folders, students, texts, zips
from selftests.making_submissions import folder
from selftests.running_grade import ROOT, Grades, nanolm, read_grades

KINDS = [kind for module in (texts, folders, zips, students) for kind in module.KINDS]
FULL = sum(POINTS.values())
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
USUAL = ("--exercise", "swiglu", "--exercise", "elementwise", "--isolation", "best")


def respect_permissions() -> None:
    """Root that may not read what is closed: in the processes that this one becomes, and in theirs."""
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


AS_OWNER: Callable[[], None] | None = respect_permissions if sys.platform == "linux" and os.geteuid() == 0 else None


def build_class(here: Path) -> list[Kind]:
    """Makes every kind that this machine can hold; which ones it could."""
    here.mkdir()
    there = []
    for age, kind in enumerate(KINDS):
        path = here / kind.entry
        try:
            if os.path.lexists(path):
                raise FileExistsError(path)  # a disk that does not tell `case` from `CASE`
            kind.build(path)
        except OSError:
            continue
        # The last is the oldest, and the first are from before the clock began: times decide nothing.
        os.utime(path, (-age, 86_400 * (365 - age)), follow_symlinks=False)
        there.append(kind)
    return there


def snapshot(here: Path) -> dict[str, tuple[Any, ...]]:
    """Everything below a folder: kind, rights, size, time, and the bytes or the link's target."""
    found = {}
    for base, below, files in os.walk(here):
        for name in (*below, *files):
            path = Path(base, name)
            status = path.lstat()
            what = ""
            if stat.S_ISLNK(status.st_mode):
                what = os.readlink(path)
            elif stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK):
                what = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_nlink, what)
    return found


@dataclass(frozen=True)
class Evening:
    """What became of the class."""

    kinds: list[Kind]
    folder: Path
    before: dict[str, tuple[Any, ...]]
    after: dict[str, tuple[Any, ...]]
    ran: subprocess.CompletedProcess[str]
    grades: Grades
    raw: dict[str, Any]
    arguments: tuple[str | Path, ...]
    ledger: Path
    students: int

    def told(self, name: str) -> str:
        """All that is said of a submission."""
        row = self.raw[name]
        notes = [note for exercise in row["exercises"] for note in exercise["notes"]]
        tests = [test.message for test in self.grades[name].tests()]
        return "\n".join([row.get("reason", ""), *row["notes"], *notes, *tests])


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evening]:
    """The class, graded once."""
    base = tmp_path_factory.mktemp("broken")
    here, roster, written, ledger = (base / name for name in ("class", "roster.csv", "grades.json", "ledger.db"))
    kinds = build_class(here)
    count = students.write_roster(roster, kinds)
    folder(here, {"..x/modules.py": "", "grades.csv": "", "notes\x1b[31m.txt": "", "Thumbs.db": ""})
    before = snapshot(here)
    arguments = ("--class", here, *USUAL, "--ledger", ledger, "--roster", roster)
    ran = nanolm("grade", *arguments, "--json", written, before_exec=AS_OWNER, seconds=600)
    after = snapshot(here)
    assert ran.returncode == 3, ran.stderr + ran.stdout
    raw = {row["submission"]: row for row in json.loads(written.read_text(encoding="utf-8"))["submissions"]}
    yield Evening(kinds, here, before, after, ran, read_grades(written), raw, arguments, ledger, count)
    for door in ("closed-folder", "closed-exercises/exercises"):  # else pytest cannot clean up
        (here / door).chmod(0o755)


def test_every_kind_is_there(evening: Evening) -> None:
    assert len(KINDS) >= 60
    assert len({kind.entry for kind in KINDS}) == len({kind.name for kind in KINDS}) == len(KINDS)
    if sys.platform == "linux" and os.geteuid() == 0:
        assert [kind.entry for kind in KINDS if kind not in evening.kinds] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: ascii(kind.name))
def test_each_gets_its_status_its_marks_and_its_reason(evening: Evening, kind: Kind) -> None:
    if kind not in evening.kinds:
        pytest.skip("this machine cannot hold it")
    found = evening.grades[kind.name]
    assert found.status == ("graded" if kind.gradable else "ungradable"), evening.told(kind.name)
    assert kind.says in evening.told(kind.name)
    assert (found.score, found.max_score) == (kind.score, FULL)
    statuses = {exercise.id: exercise.status for exercise in found.exercises}
    assert statuses == ({"swiglu": kind.swiglu, "elementwise": kind.elementwise} if kind.gradable else {})


def test_nobodys_row_is_missing_or_doubled(evening: Evening) -> None:
    names = Counter(evening.grades.names)
    expected = Counter(
        [kind.name for kind in evening.kinds]
        + [name.replace("\x1b", "\\x1b").replace("\n", "\\x0a") for name, _ in students.MISSING]
    )
    assert names == expected
    assert len(names) == evening.students + len(students.NOT_ON_IT) + len(students.SECOND)


def test_everybody_on_the_roster_has_a_row_and_a_name(evening: Evening) -> None:
    for kind in evening.kinds:
        row = evening.raw[kind.name]
        stranger = kind.entry in students.NOT_ON_IT
        assert ("student" in row) != stranger
        assert any("Nobody on the roster" in note for note in row["notes"]) == stranger
        if not stranger and kind.entry not in students.SECOND:
            assert row["student"] == f"Student, {unicodedata.normalize('NFC', kind.id)}".strip()
    for name, student in students.MISSING:
        (row,) = [row for row in evening.raw.values() if row.get("student") == student]
        assert row["reason"] == "Nothing was handed in under this id.", name


def test_only_what_they_wrote_is_said_of_them(evening: Evening) -> None:
    for row in evening.grades.submissions:
        told = evening.told(row.submission)
        assert "Traceback" not in told
        assert "on our side" not in told
        assert str(ROOT) not in told
        assert str(evening.folder) not in told
        assert all(test.outcome != "infrastructure" for test in row.tests())
        assert len(told) < 200_000


def test_the_table_has_a_row_each_and_nothing_in_it_steers_a_terminal(evening: Evening) -> None:
    rest = evening.ran.stdout.partition("┡")[2]
    rows = re.findall(r"^│.*│ +(?:\d+\.\d / 18|no grade) │", rest.partition("└")[0], re.MULTILINE)
    assert len(rows) == len(evening.grades.submissions)
    assert evening.ran.stdout.replace("\n", "").isprintable()
    assert evening.ran.stderr == ""


def test_what_is_no_submission_is_named(evening: Evening) -> None:
    below = " ".join(evening.ran.stdout.partition("└")[2].split())
    assert f"Passed over in {evening.folder}: ..x, grades.csv, notes\\x1b[31m.txt." in below
    assert re.search(rf"{len(evening.grades.submissions)} submissions in .* s; \d+ could not be graded", below)


def test_the_class_folder_is_as_it_was(evening: Evening) -> None:
    assert evening.after == evening.before
    assert not Path("/tmp/a-trap-of-a-broken-submission").exists()


NO_WORKER = """
import sys
from grader import remote
from grader.commands import grade

def refuse(*arguments):
    raise AssertionError("known work was run again")

remote.WorkerBackend.run = refuse
sys.exit(grade(sys.argv[1:]))
"""


def test_a_second_run_gives_the_same_without_running_anything(evening: Evening, tmp_path: Path) -> None:
    with Ledger(evening.ledger) as ledger:
        content = ledger.content()
    again = tmp_path / "again.json"
    ran = subprocess.run(
        [sys.executable, "-c", NO_WORKER, *map(str, evening.arguments), "--json", str(again), "--processes", "1"],
        cwd=ROOT, capture_output=True, encoding="utf-8", timeout=150, preexec_fn=AS_OWNER,
    )  # fmt: skip
    assert ran.returncode == 3, ran.stderr
    rows = json.loads(again.read_text(encoding="utf-8"))["submissions"]
    assert [timeless(row) for row in rows] == [timeless(row) for row in evening.raw.values()]
    with Ledger(evening.ledger) as ledger:
        assert ledger.content() == content


def timeless(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "seconds": 0}


def test_a_roster_with_a_student_twice_is_refused_before_anything_is_graded(evening: Evening, tmp_path: Path) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text("id,name\nanna,A\nANNA,B\n", encoding="utf-8")
    ran = nanolm("grade", "--class", evening.folder, *USUAL, "--roster", roster)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "line 3: the id 'ANNA' stands there twice" in ran.stderr
