"""Downloads of a class: whose is what, what is taken, and what is told where something cannot be read."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.coursework.collecting import CollectError, collect
from grader.coursework.layouts import item, owners
from grader.coursework.loop import collected_students, complete
from grader.coursework.standing import Course, read
from grader.notebooks.released import released
from grader.roster import Student
from selftests.making_notebooks import ROOT, STEM, STUBS, right, solution, write
from selftests.running_grade import nanolm

COURSE = released(ROOT)
FIRST, SECOND = STEM["rmsnorm"], STEM["swiglu"]
ROSTER = [Student("4711", "Doe, Jane"), Student("ben", "Ben Öz"), Student("s3", "Ann Lee"), Student("s4", "Ann Lee")]
NOTEBOOK = json.dumps(right("rmsnorm"))
OTHER = json.dumps(right("swiglu"))


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course folder with the release alone: collecting needs no more."""
    folder = tmp_path / "course"
    write(folder / "release" / "module06", STUBS)
    return Course(folder, isolation="best")


def put(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def taken(course: Course, student: str) -> set[str]:
    return {path.name for path in course.submitted(student).iterdir()} - {"collected.json"}


@pytest.mark.parametrize(
    ("entry", "who", "file", "late"),
    [
        ("anna", "anna", "anna", False),
        ("anna.zip", "anna", "anna.zip", False),
        ("Doe Jane_4711_assignsubmission_file_", "Doe Jane_4711", "", False),
        (f"Doe Jane_4711_assignsubmission_file_{FIRST}.ipynb", "Doe Jane_4711", f"{FIRST}.ipynb", False),
        (f"doejane_4711_99_{FIRST}-1.ipynb", "doejane_4711", f"{FIRST}-1.ipynb", False),
        (f"doejane_LATE_4711_99_{FIRST}.ipynb", "doejane_4711", f"{FIRST}.ipynb", True),
        ("öz_12_99_homework.zip", "öz_12", "homework.zip", False),
        (f"ben_{FIRST}.ipynb", "ben", f"{FIRST}.ipynb", False),
        (f"{FIRST}.ipynb", "", f"{FIRST}.ipynb", False),
    ],
)
def test_names_tell_whose_an_entry_is(entry: str, who: str, file: str, late: bool) -> None:
    found = item(entry, COURSE)
    assert (found.who, found.file, found.late) == (who, file, late)


@pytest.mark.parametrize(
    ("key", "student"),
    [
        ("Doe Jane_4711", "4711"),
        ("janedoe_99", "4711"),
        ("Jane Doe_1", "4711"),
        ("BEN", "ben"),
        ("özben_7", "ben"),
        ("Ann Lee_5", None),
        ("stranger", None),
    ],
)
def test_an_id_or_an_unmistakable_name_finds_the_student(key: str, student: str | None) -> None:
    assert owners([key], ROSTER).get(key) == student


def test_without_a_roster_the_name_of_the_entry_is_the_id() -> None:
    assert owners(["anna", "Doe Jane_4711", "..", "a\nb", "[x]"], []) == {
        "anna": "anna", "Doe Jane_4711": "Doe-Jane_4711", "a\nb": "a-b", "[x]": "x",
    }  # fmt: skip


MOODLE = {
    f"Doe Jane_1234_assignsubmission_file_/{FIRST}.ipynb": NOTEBOOK,
    f"Doe Jane_1234_assignsubmission_file_/{SECOND} (1).ipynb": OTHER,
    f"Ben Öz_77_assignsubmission_file_/homework/{FIRST}.ipynb": NOTEBOOK,
    "Who Else_5_assignsubmission_file_/x.ipynb": "{}",
}
CANVAS = {
    f"doejane_31_900_{FIRST}-1.ipynb": NOTEBOOK,
    f"doejane_31_901_{SECOND}.ipynb": OTHER,
    f"özben_LATE_32_902_{FIRST}.ipynb": NOTEBOOK,
    "whoelse_5_903_x.ipynb": "{}",
}
FLAT_MOODLE = {name.replace("_/homework/", "_").replace("_/", "_"): text for name, text in MOODLE.items()}


@pytest.mark.parametrize("download", [MOODLE, CANVAS, FLAT_MOODLE], ids=["moodle", "canvas", "moodle, flat"])
@pytest.mark.parametrize("packed", ["folder", "zip", "zip of a folder"])
def test_a_bulk_download_is_one_submission_a_student(
    course: Course, tmp_path: Path, download: dict[str, str], packed: str
) -> None:
    path = put(tmp_path / "download", download)
    if packed != "folder":
        with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
            for name, text in download.items():
                archive.writestr(f"CS101-Module 6-1234/{name}" if packed == "zip of a folder" else name, text)
        path = tmp_path / "download.zip"
    done = collect(course, [path], ROSTER)
    assert done.students == ["4711", "ben"]
    assert taken(course, "4711") == {f"{FIRST}.ipynb", f"{SECOND}.ipynb"}
    assert taken(course, "ben") == {f"{FIRST}.ipynb"}
    assert len(done.nobodys) == 1
    assert "Nobody's, so not collected" in done.remarks[0]
    submission = read(course, "4711")
    assert solution("rmsnorm").strip() in submission.files["modules.py"]
    assert solution("swiglu").strip() in submission.files["modules.py"]
    if download is CANVAS:
        assert "Canvas marks it as late." in read(course, "ben").notes
    assert not list(course.data.glob(".collecting-*"))


def test_a_folder_of_one_student_is_that_students(course: Course, tmp_path: Path) -> None:
    collect(course, [put(tmp_path / "ben", {f"{FIRST}.ipynb": NOTEBOOK})], ROSTER)
    with zipfile.ZipFile(tmp_path / "4711.zip", "w") as archive:
        archive.writestr("modules.py", solution("rmsnorm"))
    collect(course, [tmp_path / "4711.zip"], ROSTER)
    assert collected_students(course) == ["4711", "ben"]
    assert taken(course, "4711") == {"modules.py"}
    complete(course, ["4711"])
    absent = sorted(f"{stem}.ipynb" for stem in set(STEM.values()) - {FIRST, SECOND})
    assert read(course, "4711").notes == (f"Not handed in: {', '.join(absent)}.",)


def test_a_zip_inside_a_students_folder_is_looked_into(course: Course, tmp_path: Path) -> None:
    (tmp_path / "class" / "ben").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "class" / "ben" / "work.zip", "w") as archive:
        archive.writestr(f"hw/{FIRST}.ipynb", NOTEBOOK)
    collect(course, [tmp_path / "class"], ROSTER)
    assert taken(course, "ben") == {f"{FIRST}.ipynb"}


def test_bytes_are_kept_and_nothing_else_is_taken(course: Course, tmp_path: Path) -> None:
    odd = b"\xef\xbb\xbf" + NOTEBOOK.encode()
    path = put(tmp_path / "class" / "ben", {"conftest.py": "raise SystemExit", ".env": "x", "notes.txt": "x"})
    (path / f"{FIRST}.ipynb").write_bytes(odd)
    collect(course, [tmp_path / "class"], ROSTER)
    assert taken(course, "ben") == {f"{FIRST}.ipynb"}
    assert (course.submitted("ben") / f"{FIRST}.ipynb").read_bytes() == odd


def test_a_new_version_replaces_the_old_one_and_a_killed_run_leaves_no_half(course: Course, tmp_path: Path) -> None:
    collect(course, [put(tmp_path / "1" / "ben", {f"{FIRST}.ipynb": NOTEBOOK}).parent], ROSTER)
    rest = course.submitted("ben").with_name(".module06.part")
    put(rest, {"half.ipynb": "{"})
    assert collected_students(course) == ["ben"]
    collect(course, [put(tmp_path / "2" / "ben", {f"{SECOND}.ipynb": OTHER}).parent], ROSTER)
    assert taken(course, "ben") == {f"{SECOND}.ipynb"}
    assert not rest.exists()


def test_the_time_that_nbgrader_collected_stays(course: Course, tmp_path: Path) -> None:
    files = {f"ben/module06/{FIRST}.ipynb": NOTEBOOK, "ben/module06/timestamp.txt": "2026-11-30 10:00:00 UTC"}
    collect(course, [put(tmp_path / "submitted", files)], ROSTER)
    assert taken(course, "ben") == {f"{FIRST}.ipynb", "timestamp.txt"}


def test_what_cannot_be_read_is_a_reason_and_stops_nobody(course: Course, tmp_path: Path) -> None:
    folder = put(tmp_path / "class", {f"ben/{FIRST}.ipynb": NOTEBOOK, "4711.zip": "no zip"})
    (folder / "s3").symlink_to(ROOT / "source")
    done = collect(course, [folder], ROSTER)
    assert done.students == ["4711", "ben", "s3"]
    complete(course, done.students)
    assert "not a zip" in str(read(course, "4711").ungradable)
    assert "symbolic link" in str(read(course, "s3").ungradable)
    assert read(course, "ben").ungradable is None
    assert any(note.startswith("Not handed in: ") for note in read(course, "ben").notes)


def test_a_hostile_class_archive_writes_nothing_outside(course: Course, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr("../../evil.ipynb", NOTEBOOK)
        archive.writestr("/evil.ipynb", NOTEBOOK)
        link = zipfile.ZipInfo("ben/link.ipynb")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr(f"ben/{FIRST}.ipynb", NOTEBOOK)
    done = collect(course, [tmp_path / "class.zip"], ROSTER)
    assert done.students == ["ben"]
    assert sum("was left out: an unsafe path or no plain file" in remark for remark in done.remarks) == 3
    assert not list(tmp_path.rglob("evil.ipynb"))


def test_missing_notebooks_are_put_there_from_the_release(course: Course, tmp_path: Path) -> None:
    collect(course, [put(tmp_path / "class" / "ben", {f"{FIRST} (1).ipynb": NOTEBOOK}).parent], ROSTER)
    complete(course, ["ben"])
    assert taken(course, "ben") == {f"{stem}.ipynb" for stem in STUBS}
    assert solution("rmsnorm").strip() in read(course, "ben").files["modules.py"]


@pytest.mark.parametrize("name", ["nothing", "link", "no.zip"])
def test_what_cannot_be_collected_from_is_wrong_usage(course: Course, tmp_path: Path, name: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "no.zip").write_text("x")
    with pytest.raises(CollectError):
        collect(course, [tmp_path / name], ROSTER)


def test_an_id_that_is_no_folder_is_told_before_anything_is_written(course: Course, tmp_path: Path) -> None:
    with pytest.raises(CollectError, match="cannot be a folder's name"):
        collect(course, [tmp_path], [Student("a/b", "")])
    assert not course.data.exists()


def test_the_command_says_what_it_did_and_needs_a_configuration(course: Course, tmp_path: Path) -> None:
    folder = put(tmp_path / "class" / "ben", {f"{FIRST}.ipynb": NOTEBOOK}).parent
    put(course.root, {"tests/tolerances.py": "", "exercises/config.py": ""})
    assert nanolm("course", "collect", folder, "--course", course.root).returncode == 4
    put(course.root, {"grader_config.py": "c = get_config()\n"})
    ran = nanolm("course", "collect", folder, "--course", course.root)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "1 submissions collected into" in ran.stdout
    assert nanolm("course", "collect", tmp_path / "none", "--course", course.root).returncode == 2
    assert nanolm("course", "verdicts", "--student", "who", "--course", course.root).returncode == 2


def test_one_writer_at_a_time(course: Course, tmp_path: Path) -> None:
    from grader.coursework.lock import locked

    put(course.root, {"tests/tolerances.py": "", "exercises/config.py": "", "grader_config.py": "c = get_config()\n"})
    with locked(course):
        ran = nanolm("course", "collect", tmp_path, "--course", course.root)
    assert ran.returncode == 4
    assert "another `nanolm course` is working" in ran.stderr
