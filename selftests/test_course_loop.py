"""A class of notebooks through the whole loop, with real nbgrader and its real gradebook. Killed once on the way.

No batch stops, no cheat earns, no zero that nobody gave; and nothing of a student's runs in a page.
"""

from __future__ import annotations

import csv
import html.parser
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from nanolm.course import EXERCISES
from selftests.making_notebooks import STEM, right, write
from selftests.notebook_kinds import FIRST, KINDS, MARK, MISTAKES, Kind, build
from selftests.running_grade import NANOLM, nanolm

pytest.importorskip("nbgrader", reason="the notebooks' tools are not installed: pip install -e '.[notebooks]'")

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("source", "release", "exercises", "tests", "grader_config.py", "nbgrader_config.py")
SECRET = {"NANOLM_SECRET": "a secret of the self-test"}
BY_STUDENT = {kind.student: kind for kind in KINDS}


def make_course(folder: Path) -> Path:
    """A course folder of its own: what the loop needs of this one."""
    folder.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    with (folder / "grader_config.py").open("a") as stream:
        stream.write("c.CourseGrading.isolation = 'best'\nc.CourseGrading.late_policy = '10% per day'\n")
    return folder


def write_roster(path: Path) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "name"])
        writer.writerows([[kind.student, f'Doe, "{kind.student}" Ω'] for kind in KINDS])
        writer.writerow(["absent", "=Nobody"])
    return path


def read_csv(path: Path) -> dict[str, dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return {row["id"]: row for row in csv.DictReader(stream)}


@dataclass(frozen=True)
class Evening:
    """What became of the class."""

    course: Path
    roster: Path
    ran: subprocess.CompletedProcess[str]
    rows: dict[str, dict[str, str]]
    killed_at: int
    """How many students had pages when the first run was killed."""

    def query(self, sql: str) -> list[tuple[object, ...]]:
        with sqlite3.connect(self.course / "grading" / "gradebook.db") as db:
            return db.execute(sql).fetchall()

    def page(self, student: str, stem: str) -> str:
        return (self.course / "grading" / "feedback" / student / "module06" / f"{stem}.html").read_text("utf-8")


def grade(course: Path, *more: str | Path) -> subprocess.CompletedProcess[str]:
    return nanolm("course", "grade", *more, "--course", course,
                  environment=SECRET, cwd=course, seconds=1500)  # fmt: skip


def _kill_in_the_middle(course: Path, handed_in: Path, roster: Path) -> int:
    command = [str(NANOLM), "course", "grade", str(handed_in), "--roster", str(roster), "--course", str(course)]
    running = subprocess.Popen(
        command, env=os.environ | SECRET, cwd=course, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    done = course / "grading" / "autograded"
    count = 0
    deadline = time.monotonic() + 1200
    while count < 4 and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
        count = len(list(done.iterdir())) if done.is_dir() else 0
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    return count


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Evening:
    """The class, graded by a run that was killed and one that went on."""
    base = tmp_path_factory.mktemp("loop")
    course = make_course(base / "course")
    build(base / "class")
    roster = write_roster(base / "roster.csv")
    count = _kill_in_the_middle(course, base / "class", roster)
    ran = grade(course, "--roster", roster)
    assert ran.returncode == 3, ran.stdout + ran.stderr
    return Evening(course, roster, ran, read_csv(course / "grading" / "grades.csv"), count)


def test_the_first_run_was_killed_in_the_middle(evening: Evening) -> None:
    assert 4 <= evening.killed_at < len(KINDS) - 4


def test_at_least_forty_notebooks_are_handed_in_and_everybody_has_a_row(evening: Evening, tmp_path: Path) -> None:
    build(tmp_path / "class")
    assert len(list((tmp_path / "class").rglob("*.ipynb"))) + len(list((tmp_path / "class").rglob("*.zip"))) >= 40
    assert len(KINDS) >= 35
    assert set(evening.rows) == {*BY_STUDENT, "absent"}
    assert {row["status"] for row in evening.rows.values()} == {"graded", "for review", "ungradable", "missing"}
    assert "TROUBLE" not in evening.ran.stdout


@pytest.mark.parametrize("student", BY_STUDENT)
def test_each_kind_gets_what_it_earned(evening: Evening, student: str) -> None:
    kind, row = BY_STUDENT[student], evening.rows[student]
    if student in ("reference", "reference-py", "stub") or kind.points:
        earned = {name: float(row[name]) for name in EXERCISES if row[name]}
        assert {name: points for name, points in earned.items() if points} == {
            name: points for name, points in kind.points.items() if points
        }
    assert row["status"] == kind.status
    assert kind.told in row["notes"]


def test_a_row_without_a_grade_has_no_number(evening: Evening) -> None:
    for row in evening.rows.values():
        if row["status"] in ("ungradable", "missing"):
            assert row["score"] == row["tests"] == row["rmsnorm"] == ""
            assert row["notes"]


@pytest.mark.parametrize("student", MISTAKES)
def test_a_notebook_and_its_file_get_the_same_points(evening: Evening, student: str) -> None:
    exercise = MISTAKES[student].split("/")[1]
    assert evening.rows[student][exercise] == evening.rows[f"{student}-py"][exercise] != ""
    assert float(evening.rows[student][exercise]) < EXERCISES[exercise].points


def test_the_gradebook_holds_the_same_points(evening: Evening) -> None:
    stored = evening.query(
        "SELECT submitted_assignment.student_id, base_cell.name, grade.auto_score, grade.needs_manual_grade FROM grade "
        "JOIN base_cell ON grade.cell_id = base_cell.id JOIN submitted_notebook ON grade.notebook_id = "
        "submitted_notebook.id JOIN submitted_assignment ON submitted_notebook.assignment_id = submitted_assignment.id"
    )
    checks = {(student, str(cell)[: -len("-check")]): (score, manual)
              for student, cell, score, manual in stored if str(cell).endswith("-check")}  # fmt: skip
    assert len(checks) == len(KINDS) * len(EXERCISES)
    for (student, exercise), (score, manual) in checks.items():
        written = evening.rows[str(student)][exercise]
        assert score == (float(written) if written else None)
        assert bool(manual) == (written == "")


def test_names_with_commas_quotes_and_formulas_stay_one_cell(evening: Evening) -> None:
    assert evening.rows["stub"]["name"] == 'Doe, "stub" Ω'
    assert evening.rows["absent"]["name"] == "'=Nobody"


def test_the_page_shows_points_cause_question_and_table(evening: Evening) -> None:
    page = evening.page("centering", FIRST)
    assert "rmsnorm-centering" in page
    assert "subtracts the mean" in page
    assert "Which step of LayerNorm did RMSNorm drop?" in page
    assert "test_rmsnorm_does_not_center" in page
    assert "10.5 of 14 points" in page
    assert "Score: 10.5 / 14.0" in page


class Active(html.parser.HTMLParser):
    """Collects what a page would run: scripts, event attributes, links that are programs."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._script = False
        self._shown = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._script = tag == "script"
        self._shown += tag == "pre"
        for name, value in attrs:
            if name.startswith("on") or MARK in (value or "") or (value or "").lower().startswith("javascript:"):
                self.found.append(f"{tag} {name}={value}")

    def handle_data(self, data: str) -> None:
        if (self._script and MARK in data) or ("\\href" in data and not self._shown):
            self.found.append(data)
        self._script = False

    def handle_endtag(self, tag: str) -> None:
        self._shown -= tag == "pre"


def active(page: str) -> list[str]:
    parser = Active()
    parser.feed(page)
    return parser.found


def test_the_measure_of_what_a_page_runs_finds_it() -> None:
    assert active(f"<script>x = '{MARK}'</script>")
    assert active("<img src=x onerror=alert(1)>")
    assert active("<a href='javascript:x'>")
    assert active("<p>\\href{x}</p>")
    assert active(f"<pre>&lt;script&gt;{MARK}</pre>") == []


@pytest.mark.parametrize("student", ["script", "says-so"])
def test_a_script_of_a_student_runs_in_no_page(evening: Evening, student: str) -> None:
    page = evening.page(student, FIRST)
    assert MARK in page
    assert active(page) == []


def test_formgrader_shows_the_same_notebook_without_a_script(evening: Evening) -> None:
    """Its own template on the autograded notebook, as its handler does it."""
    program = """
import sys
from pathlib import Path
import nbgrader.server_extensions.formgrader as formgrader
from nbconvert.exporters import HTMLExporter
folder = Path(formgrader.__file__).parent / "templates"
exporter = HTMLExporter(template_name="formgrade", extra_template_basedirs=[str(folder)])
exporter.register_preprocessor("nbconvert.preprocessors.CSSHTMLHeaderPreprocessor", enabled=True)
resources = dict(assignment_id="a", notebook_id="n", submission_id="s", index=0, total=1, base_url="", notebook_path="")
print(exporter.from_filename(sys.argv[1], resources=resources)[0])
"""
    notebook = evening.course / "grading" / "autograded" / "script" / "module06" / f"{FIRST}.ipynb"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(notebook)], capture_output=True, text=True, check=True
    )
    assert MARK in done.stdout
    ours = [found for found in active(done.stdout) if MARK in found]
    assert ours == []
    assert 'class="score' in done.stdout


def test_megabytes_of_output_are_in_no_page(evening: Evening) -> None:
    for step in ("autograded", "feedback"):
        folder = evening.course / "grading" / step / "loud" / "module06"
        assert sum(path.stat().st_size for path in folder.iterdir()) < 20 << 20


def test_the_gradebook_was_not_changed_by_a_submission(evening: Evening) -> None:
    assert evening.query("SELECT count(*) FROM grade WHERE manual_score IS NOT NULL") == [(0,)]


def test_what_comes_after_the_evening(evening: Evening, tmp_path: Path) -> None:
    """A person's points, a version handed in again, nbgrader's own command, and a run that finds nothing to do."""
    course = evening.course
    folder = write(tmp_path / "again" / "centering", {STEM["rmsnorm"]: right("rmsnorm")})
    (folder / "timestamp.txt").write_text("2026-11-30 12:00:00 UTC\n")
    with sqlite3.connect(course / "grading" / "gradebook.db") as db:
        db.execute("UPDATE assignment SET duedate = '2026-11-30 10:00:00.000000'")
        db.execute(
            "UPDATE grade SET manual_score = 1.5, needs_manual_grade = 0 WHERE id IN (SELECT grade.id FROM grade JOIN "
            "base_cell ON grade.cell_id = base_cell.id JOIN submitted_notebook ON grade.notebook_id = "
            "submitted_notebook.id JOIN submitted_assignment ON submitted_notebook.assignment_id = "
            "submitted_assignment.id WHERE base_cell.name = 'rmsnorm-question' AND student_id = 'script')"
        )
    before = {path: path.stat().st_mtime_ns for path in course.glob("grading/autograded/*/module06/*.ipynb")}
    ran = grade(course, tmp_path / "again", "--roster", evening.roster)
    assert ran.returncode == 3, ran.stdout + ran.stderr
    after = {path: path.stat().st_mtime_ns for path in before}
    assert {path.parts[-3] for path in before if before[path] != after[path]} == {"centering"}
    rows = read_csv(course / "grading" / "grades.csv")
    assert rows["centering"]["rmsnorm"] == "14"
    # Ten per cent of the notebook's 16 points for the day that has begun; the other notebooks had nothing to lose.
    assert (rows["centering"]["late_penalty"], rows["centering"]["score"]) == ("1.6", "12.4")
    assert (rows["script"]["status"], rows["script"]["score"]) == ("graded", "1.5")
    unchanged = {name: row for name, row in evening.rows.items() if name not in ("centering", "script")}
    assert {name: rows[name] for name in unchanged} == unchanged

    nbgrader = Path(sys.executable).with_name("nbgrader")
    usual = os.environ | SECRET | {"PATH": f"{nbgrader.parent}{os.pathsep}{os.environ['PATH']}"}
    for command in (["autograde", "module06", "--student", "swapped", "--force"], ["export", "--to", "own.csv"]):
        done = subprocess.run([nbgrader, *command], cwd=course, env=usual, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert read_csv(course / "own.csv") == rows


def _kinds_that(status: str) -> list[Kind]:
    return [kind for kind in KINDS if kind.status == status]


def test_the_class_has_every_kind() -> None:
    assert len(_kinds_that("ungradable")) >= 7
    assert len({kind.student for kind in KINDS}) == len(KINDS)
