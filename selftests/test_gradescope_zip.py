"""The autograder for Gradescope: what is packed, that nothing leaks, and a container's day from set-up to a failure."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader.late import LatePolicyError
from grader.leaks import ReleaseError
from grader.reports.autograder import AutograderSettings, lateness
from grader.reports.command import command
from grader.reports.gradescope_zip import round_key, write_zip
from grader.sandbox.bubblewrap import NoBubblewrap, find
from selftests.gradescope_container import Container, Ran
from selftests.report_readers import GradescopeResults
from selftests.running_grade import ANSWERS, ROOT, STUBS
from selftests.test_release import secret_line, small_course

SECRET = "the secret of this course"
CENTERING = (ROOT / "mistakes" / "rejected" / "rmsnorm" / "centering.py").read_text(encoding="utf-8")
BOTH = ("rmsnorm", "elementwise")


def metadata(created: str, due: str | None, own: str | None = None) -> dict[str, Any]:
    """`submission_metadata.json` as Gradescope documents it, with the student's own dates that it has too."""
    assignment = {"due_date": due, "late_due_date": None, "id": 25828, "title": "Module 6", "total_points": "20.0"}
    user: dict[str, Any] = {"email": "student@example.org", "id": 1234, "name": "A student", "sid": None}
    if own:
        user["assignment"] = {"due_date": own, "late_due_date": None, "release_date": due}
    return {"id": 1, "created_at": created, "assignment": assignment, "users": [user], "previous_submissions": []}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip as an instructor makes it, for two exercises."""
    path = tmp_path_factory.mktemp("gradescope") / "autograder.zip"
    before = os.environ.get("NANOLM_SECRET")
    os.environ["NANOLM_SECRET"] = SECRET
    try:
        chosen = [argument for name in BOTH for argument in ("--exercise", name)]
        late = ["--late", "10% per day, grace 1 hour"]
        assert command(["gradescope-zip", str(path), "--round", "week6", *chosen, *late, "--course", str(ROOT)]) == 0
    finally:
        del os.environ["NANOLM_SECRET"]
        if before is not None:
            os.environ["NANOLM_SECRET"] = before
    return path


def test_what_is_packed(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        entries = {entry.filename: entry for entry in packed.infolist()}
        texts = {name: packed.read(name) for name in entries}
    tops = {name.partition("/")[0] for name in entries}
    (wheel,) = (name for name in tops if name.endswith(".whl"))
    assert tops == {"setup.sh", "run_autograder", "requirements.txt", "settings.json", "key", "course", wheel}
    assert {name.split("/")[1] for name in entries if name.startswith("course/")} - {"release"} == {
        "exercises",
        "tests",
    }
    for name in ("setup.sh", "run_autograder"):
        assert entries[name].external_attr >> 16 == stat.S_IFREG | 0o755
        assert texts[name].startswith(b"#!/usr/bin/env bash\n")
        assert not re.search(rb"@[A-Z_]+@|\r", texts[name])
    assert SECRET.encode() not in b"".join(texts.values())
    assert texts["key"].decode().strip() == round_key(SECRET.encode(), "week6")
    assert round_key(SECRET.encode(), "week7") != round_key(SECRET.encode(), "week6") != round_key(b"", "week6")
    assert b"\ntorch==" in texts["requirements.txt"]
    assert json.loads(texts["settings.json"]) == {
        "round": "week6", "isolation": "best-medium", "exercises": list(BOTH),
        "late": "10% per day, grace 60 minutes", "visibility": "visible",
    }  # fmt: skip
    assert {f"course/exercises/{name}" for name in STUBS} <= entries.keys()
    assert all(texts[f"course/exercises/{name}"].decode() == text for name, text in STUBS.items())


@pytest.mark.parametrize(
    ("name", "marker"), [("tests/helper.py", True), ("tests/helper.py", False), ("grader/helper.py", True)]
)
def test_a_line_of_a_solution_is_not_packed(tmp_path: Path, name: str, marker: bool) -> None:
    settings = AutograderSettings("week6", "best-medium", list(BOTH))
    course = small_course(tmp_path / "course")
    shutil.copytree(ROOT / "grader", course / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "README.md", course / "README.md")
    (course / name).write_text(f"{'# ### BEGIN SOLUTION' * marker}\n    {secret_line(course)}\n", encoding="utf-8")
    says = "line 1 looks like" if marker and name.startswith("tests") else "line 2 holds a line of a solution"
    with pytest.raises(ReleaseError, match=f"helper.py {says}"):
        write_zip(course, tmp_path / "a.zip", settings, b"")
    assert [path.name for path in tmp_path.iterdir()] == ["course"]


def test_wrong_usage_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, says in (
        ([str(tmp_path / "no" / "a.zip")], "cannot be written"),
        ([str(tmp_path)], "cannot be written"),
        ([str(tmp_path / "a.zip"), "--late", "soon"], "no part of a late policy"),
    ):
        with pytest.raises(SystemExit) as ended:
            command(["gradescope-zip", *arguments])
        assert ended.value.code == 2
        assert says in capsys.readouterr().err
    assert command(["gradescope-zip", str(tmp_path / "a.zip"), "--course", str(tmp_path)]) == 4
    assert list(tmp_path.iterdir()) == []


# ── Lateness ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("created", "due", "own", "late"),
    [
        ("2018-07-31T22:59:59.000000-07:00", "2018-07-31T23:00:00.000000-07:00", None, 0),
        ("2018-08-01T00:00:00.000000-07:00", "2018-07-31T23:00:00.000000-07:00", None, 3600),
        ("2018-08-01T07:00:00.000000Z", "2018-07-31T23:00:00.000000-07:00", None, 3600),
        ("2018-08-02T00:00:00.000000-07:00", "2018-07-31T23:00:00.000000-07:00", "2018-08-03T00:00:00.000000-07:00", 0),
        ("2018-08-02T00:00:00.000000-07:00", None, None, 0),
    ],
)
def test_lateness_is_read_from_the_metadata(created: str, due: str | None, own: str | None, late: float) -> None:
    assert lateness(json.dumps(metadata(created, due, own)).encode()) == late


def test_a_groups_due_date_is_the_latest() -> None:
    data = metadata("2018-08-02T00:00:00-07:00", "2018-07-31T23:00:00-07:00", "2018-08-01T00:00:00-07:00")
    data["users"].append({"assignment": {"due_date": "2018-08-01T23:00:00-07:00"}})
    assert lateness(json.dumps(data).encode()) == 3600


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"created_at": "now", "assignment": {}}', b'{"assignment": {}}'])
def test_metadata_that_cannot_be_read_is_no_time(raw: bytes) -> None:
    if b"now" in raw:
        assert lateness(raw.replace(b"now", b"2018-08-02T00:00:00Z")) == 0
    with pytest.raises((msgspec.DecodeError, LatePolicyError)):
        lateness(raw)


# ── The container ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def container(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Container:
    """The image after its set-up, which says whether grading starts."""
    try:
        find()
    except NoBubblewrap as error:
        pytest.skip(str(error))
    made = Container(tmp_path_factory.mktemp("container"), archive)
    done = made.run("/autograder/source/setup.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Grading starts: the stubs earn 0 of 20, isolation medium." in done.stdout
    return made


def valid(ran: Ran) -> GradescopeResults:
    return msgspec.convert(ran.results, GradescopeResults)


def no_grade(ran: Ran, says: str) -> None:
    """A file that is no valid result by Gradescope's specification, and a sentence in it."""
    assert ran.status != 0, ran.output
    assert not valid(ran).has_score
    assert "no grade for this submission; that is not a zero" in ran.results["output"]
    assert says in ran.results["output"]


def test_right_answers_two_days_late(container: Container) -> None:
    ran = container.grade(ANSWERS, metadata("2018-08-02T12:00:00-07:00", "2018-07-31T23:00:00-07:00"))
    assert ran.status == 0, ran.output
    results = valid(ran)
    assert (results.score, results.extra_data["earned"], results.extra_data["isolation"]) == (16.0, 20.0, "medium")
    assert "4 points off" in results.output
    assert isinstance(results.tests, list)
    assert {test.status for test in results.tests if test.max_score} == {"passed"}


HOSTILE = """
import os
def attempt(action):
    try:
        return action()
    except OSError as error:
        return type(error).__name__
found = [attempt(lambda: open("/autograder/source/key").read()), attempt(lambda: os.listdir("/autograder/source"))]
found += [attempt(lambda: open("/autograder/results/results.json", "w").write('{"score": 20}'))]
"""


def test_a_hostile_submission_learns_and_writes_nothing(container: Container) -> None:
    text = CENTERING + HOSTILE + "\nRMSNorm.forward = lambda self, x: (_ for _ in ()).throw(ValueError(repr(found)))\n"
    ran = container.grade({"modules.py": text}, metadata("2018-07-31T12:00:00-07:00", "2018-07-31T23:00:00-07:00"))
    results = valid(ran)
    assert results.score == 1.0  # for a gain that is a parameter, as for any file that raises in every call
    assert isinstance(results.tests, list)
    told = next(test.output for test in results.tests if test.max_score)
    assert "PermissionError" in told
    assert round_key(SECRET.encode(), "week6") not in json.dumps(ran.results)
    assert "settings.json" not in json.dumps(ran.results)


def test_nothing_to_grade_is_no_zero(container: Container) -> None:
    no_grade(container.grade({"notes.txt": "later"}), "There is no exercise file and no notebook in it")


def test_a_failure_of_ours_is_a_sentence_and_no_zero(container: Container) -> None:
    source = container.home / "source"
    settings = (source / "settings.json").read_text()
    try:
        (source / "settings.json").write_text(settings.replace("best-medium", "full"))
        ran = container.grade({"modules.py": CENTERING})
        no_grade(ran, "The autograder failed")
        assert "could not start" in ran.output  # what instructors see says why
        (source / "settings.json").write_text("{}")
        ran = container.grade({"modules.py": CENTERING})
        no_grade(ran, "The autograder failed")
        assert "missing required field" in ran.output
    finally:
        (source / "settings.json").write_text(settings)
    environment = container.home / "environment"
    try:
        environment.rename(container.home / "elsewhere")
        no_grade(container.grade({"modules.py": CENTERING}), "The autograder failed")
    finally:
        (container.home / "elsewhere").rename(environment)
