"""Submissions as they arrive: where files may lie, near names, text and encodings, names, digests, class folders."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.submissions import SubmissionUsageError, class_entries, name_submissions, read_submission
from selftests.making_submissions import BUDGET, FILES, KIB, MODULES, folder, read, refused, told, zipped


@pytest.fixture(params=["folder", "zip"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Mapping[str, str | bytes]], Path]:
    """Builds a submission of the given files, once as a folder and once as a zip."""
    if request.param == "folder":
        return lambda contents: folder(tmp_path / "alice", contents)
    return lambda contents: zipped(tmp_path / "alice.zip", contents)


# --- Where files may lie


@pytest.mark.parametrize("place", ["", "exercises/", "Exercises/", "hw6/", "hw6/exercises/", "exercises/exercises/"])
def test_files_are_found_in_every_place_of_the_contract(make: Callable[..., Path], place: str) -> None:
    submission = read(make({f"{place}modules.py": MODULES, f"{place}budget.py": BUDGET}))
    assert submission.files == {"modules.py": MODULES, "budget.py": BUDGET}
    assert submission.problems == {}
    assert submission.ungradable is None
    assert submission.name == "alice"
    assert told(submission, f"Found in {place}.") == bool(place)


def test_files_keep_the_order_of_the_exercises(make: Callable[..., Path]) -> None:
    assert list(read(make({"budget.py": BUDGET, "modules.py": MODULES})).files) == ["modules.py", "budget.py"]


def test_the_top_wins_over_exercises_with_a_note(make: Callable[..., Path]) -> None:
    submission = read(make({"modules.py": MODULES, "exercises/modules.py": "old", "exercises/budget.py": BUDGET}))
    assert submission.files == {"modules.py": MODULES, "budget.py": BUDGET}
    assert told(submission, "modules.py was graded, exercises/modules.py was not")
    assert not told(submission, "Not read")


def test_of_two_spellings_of_exercises_the_exact_one_is_taken(tmp_path: Path) -> None:
    contents = {"exercises/modules.py": MODULES, "Exercises/modules.py": "x", "Exercises/budget.py": "x"}
    submission = read(zipped(tmp_path / "alice.zip", contents))  # some disks cannot hold both spellings
    assert submission.files == {"modules.py": MODULES}


@pytest.mark.parametrize("place", ["a/b/c/", "a/b/"])
def test_a_file_too_deep_is_not_found(make: Callable[..., Path], place: str) -> None:
    refused(read(make({f"{place}modules.py": MODULES})), "put your files (modules.py, ")


def test_several_folders_are_not_searched(make: Callable[..., Path]) -> None:
    refused(read(make({"a/modules.py": MODULES, "b/modules.py": MODULES})), "several folders")


def test_what_systems_leave_behind_is_no_second_folder(make: Callable[..., Path]) -> None:
    clutter = {f"{place}/modules.py": "x" for place in ("__MACOSX", ".git", "__pycache__", ".ipynb_checkpoints")}
    submission = read(make({"hw/modules.py": MODULES, "hw/._modules.py": b"\0\x05", ".DS_Store": b"\0", **clutter}))
    assert submission.files == {"modules.py": MODULES}
    assert submission.notes == ("Found in hw/.",)


def test_a_file_left_in_the_sub_folder_is_told(make: Callable[..., Path]) -> None:
    submission = read(make({"modules.py": MODULES, "hw/budget.py": BUDGET}))
    assert submission.files == {"modules.py": MODULES}
    assert told(submission, "hw/budget.py was not graded")


def test_config_is_ignored_even_when_it_is_asked_for(make: Callable[..., Path]) -> None:
    path = make({"modules.py": MODULES, "config.py": "V = 0"})
    submission = read_submission(path, ["modules.py", "config.py"])
    assert submission.files == {"modules.py": MODULES}
    assert told(submission, "config.py was ignored")


@pytest.mark.parametrize(
    "name", ["conftest.py", "sitecustomize.py", "evil.pth", "modules.cpython-311.so", "pytest.ini"]
)
def test_what_could_steer_python_is_ignored_with_a_note(make: Callable[..., Path], name: str) -> None:
    submission = read(make({"modules.py": MODULES, name: "x"}))
    assert submission.files == {"modules.py": MODULES}
    assert submission.notes == (f"Ignored, without effect on grading: {name}.",)


def test_a_helper_file_is_not_read_and_told(make: Callable[..., Path]) -> None:
    submission = read(make({"modules.py": MODULES, "helpers.py": "x", "__init__.py": "", "README.md": "x"}))
    assert list(submission.files) == ["modules.py"]
    assert told(submission, "Not read: helpers.py.")


def test_a_single_exercise_file_is_a_submission(tmp_path: Path) -> None:
    submission = read(folder(tmp_path, {"modules.py": MODULES}) / "modules.py")
    assert submission.files == {"modules.py": MODULES}
    assert submission.name == "modules.py"


def test_a_single_file_of_a_near_name_is_noted(tmp_path: Path) -> None:
    submission = read(folder(tmp_path, {"modules (2).py": MODULES}) / "modules (2).py")
    assert submission.files == {"modules.py": MODULES}
    assert told(submission, "modules (2).py was graded as modules.py")


def test_a_broken_single_file_is_a_problem(tmp_path: Path) -> None:
    submission = read(folder(tmp_path, {"modules.py": b"\xff\xfea\0"}) / "modules.py")
    assert list(submission.problems) == ["modules.py"]
    refused(submission, "UTF-16")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("week6.ipynb", "this course has released none"),
        ("alice.tar.gz", "only zip is accepted"),
        ("alice.rar", "only zip is accepted"),
        ("essay.pdf", "essay.pdf is not an exercise file"),
        ("helpers.py", "helpers.py is not an exercise file"),
        ("red\x1b[31m.txt", r"red\x1b[31m.txt is not an exercise file"),
    ],
)
def test_another_single_file_is_ungradable(tmp_path: Path, name: str, reason: str) -> None:
    refused(read(folder(tmp_path, {name: "{}"}) / name), reason)


@pytest.mark.parametrize("place", ["", "exercises/", "hw/"])
def test_notebooks_are_ungradable_where_the_course_has_released_none(make: Callable[..., Path], place: str) -> None:
    refused(read(make({f"{place}week6.ipynb": "{}"})), "this course has released none")


def test_a_notebook_beside_a_file_is_noted(make: Callable[..., Path]) -> None:
    submission = read(make({"modules.py": MODULES, "week6.ipynb": "{}"}))
    assert submission.ungradable is None
    assert told(submission, "Notebooks cannot be graded here")


def test_an_empty_submission_is_ungradable(make: Callable[..., Path]) -> None:
    refused(read(make({})), "There is no exercise file")


def test_an_archive_inside_is_not_opened(make: Callable[..., Path], tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"modules.py": MODULES}).read_bytes()
    refused(read(make({"inner.zip": inner})), "only an archive inside")


# --- Near names


@pytest.mark.parametrize(
    "name",
    [
        "Modules.py",
        "MODULES.PY",
        "modules (1).py",
        "modules(12).py",
        "modules-1.py",
        "modules_2.py",
        "modules 3.py",
        "modules copy.py",
        "modules - Copy (2).py",
        "modules \u2014 копия.py",
        "Copy of modules.py",
        "modules.py.txt",
        "modules.py.py",
    ],
)
def test_a_near_name_is_accepted_with_a_note(make: Callable[..., Path], name: str) -> None:
    submission = read(make({name: MODULES}))
    assert submission.files == {"modules.py": MODULES}
    assert told(submission, f"{name} was graded as modules.py")


@pytest.mark.parametrize(
    "name", ["modules.pyc", "my_modules.py", "modules.py~", "modules.bak.py", "modules-old.py", "modules"]
)
def test_another_name_is_not_taken_for_an_exercise(make: Callable[..., Path], name: str) -> None:
    refused(read(make({name: MODULES})), "There is no exercise file")


def test_the_exact_name_wins_over_a_near_one(make: Callable[..., Path]) -> None:
    submission = read(make({"modules (1).py": "new?", "exercises/modules.py": MODULES}))
    assert submission.files == {"modules.py": MODULES}
    assert told(submission, "Not read: modules (1).py.")


def test_an_exercise_file_is_never_another_ones_near_name(make: Callable[..., Path]) -> None:
    submission = read_submission(make({"rope_2.py": "two"}), ["rope.py", "rope_2.py"])
    assert submission.files == {"rope_2.py": "two"}


@pytest.mark.parametrize("second", ["modules (1).py", "exercises/Modules.py"])
def test_two_near_names_are_a_problem(make: Callable[..., Path], second: str) -> None:
    submission = read(make({"modules-1.py": "a", second: "b", "budget.py": BUDGET}))
    assert submission.files == {"budget.py": BUDGET}
    assert "keep the one that counts" in submission.problems["modules.py"]
    assert second in submission.problems["modules.py"]


# --- Text


@pytest.mark.parametrize("text", ["", " \n\t\n", "x = 'Ж × 模'\n"])
def test_text_arrives_exactly(make: Callable[..., Path], text: str) -> None:
    submission = read(make({"modules.py": text}))
    assert submission.files == {"modules.py": text}
    assert submission.notes == ()


def test_all_line_ends_become_line_feeds(make: Callable[..., Path]) -> None:
    assert read(make({"modules.py": b"a\r\nb\rc\n\r\n"})).files == {"modules.py": "a\nb\nc\n\n"}


def test_a_byte_order_mark_is_removed_with_a_note(make: Callable[..., Path]) -> None:
    submission = read(make({"modules.py": b"\xef\xbb\xbf" + MODULES.encode()}))
    assert submission.files == {"modules.py": MODULES}
    assert told(submission, "byte-order mark")


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ("a = 1\n".encode("utf-16"), "line 1 looks like UTF-16"),
        ("a = 1\n".encode("utf-16-le"), "line 1 looks like UTF-16"),
        ("a = 1\n".encode("utf-16-be"), "line 1 looks like UTF-16"),
        ("a = 1\n".encode("utf-32"), "line 1 looks like UTF-32"),
        ("a\r\nb\rc = 'é'\n".encode("latin-1"), "line 3 looks like Latin-1"),
        ("a\n# норма\n".encode("cp1251"), "line 2 looks like Windows-1251"),
        (b"# coding: latin-1\n'\xe9'\n", "line 2 looks like Latin-1"),
        (b"ok\n\xed\xa0\x80", "line 2 looks like"),
        (b"\xc0\xaf", "line 1 looks like"),
        (b"cut \xe2\x82", "line 1 looks like"),
        (b"a\nb\0c = 1234567890\n", "NUL byte in line 2"),
        (b"\0" * 50, "NUL byte in line 1"),
    ],
)
def test_another_encoding_is_a_problem_that_names_it_and_the_line(
    make: Callable[..., Path], data: bytes, where: str
) -> None:
    submission = read(make({"modules.py": data, "budget.py": BUDGET}))
    assert submission.files == {"budget.py": BUDGET}
    assert where in submission.problems["modules.py"]
    assert "save it as UTF-8" in submission.problems["modules.py"]
    assert submission.ungradable is None


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("# -*- coding: latin-1 -*-\n", True),
        ("#!/usr/bin/python\n# vim: set fileencoding=utf-7 :\n", True),
        ("\n# coding: cp1252\n", True),
        ("# coding: utf-8\n", False),
        ("# coding: UTF_8\n", False),
        ("x = 1\n# coding: latin-1\n", False),
        ("# a\n# b\n# coding: latin-1\n", False),
    ],
)
def test_a_coding_cookie_is_ignored_with_a_note(make: Callable[..., Path], text: str, noted: bool) -> None:
    submission = read(make({"modules.py": text}))
    assert submission.files == {"modules.py": text}
    assert told(submission, "declares the encoding") == noted


def test_a_submission_of_broken_files_is_ungradable_and_keeps_the_problems(make: Callable[..., Path]) -> None:
    submission = read(make({"modules.py": b"\xff", "budget.py": b"\0"}))
    assert list(submission.problems) == ["modules.py", "budget.py"]
    refused(submission, " ".join(submission.problems.values()))


@pytest.mark.parametrize(("size", "fits"), [(256 * KIB, True), (256 * KIB + 1, False)])
def test_the_size_limit_is_exact(make: Callable[..., Path], size: int, fits: bool) -> None:
    submission = read(make({"modules.py": b"#" * size, "budget.py": BUDGET}))
    assert ("modules.py" in submission.files) == fits
    assert ("larger than 256 KiB" in submission.problems.get("modules.py", "")) == (not fits)


@pytest.mark.parametrize("path", ["nothing", "nothing/deeper", "modules.py/x", "nul\0byte", "long" * 100])
def test_nothing_there_is_ungradable(tmp_path: Path, path: str) -> None:
    folder(tmp_path, {"modules.py": MODULES})
    refused(read(tmp_path / path), "There is nothing at ")


def test_the_current_folder_is_a_submission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder(tmp_path / "alice", {"modules.py": MODULES}))
    submission = read(Path())
    assert submission.files == {"modules.py": MODULES}
    assert submission.name == "alice"


def test_no_descriptor_is_left_open(make: Callable[..., Path]) -> None:
    path = make({"exercises/modules.py": b"\xff", "exercises/budget.py": BUDGET})
    descriptors = Path("/dev/fd")
    before = len(list(descriptors.iterdir()))
    for _ in range(5):
        read(path)
    assert len(list(descriptors.iterdir())) == before


def test_names_from_a_student_are_escaped_everywhere(make: Callable[..., Path]) -> None:
    hostile = "\x1b]0;x\x07\u202e"
    submission = read(make({f"{hostile}/modules.py": b"\xff", f"{hostile}/conftest.py": "", f"{hostile}/z.py": ""}))
    said = " ".join([*submission.notes, *submission.problems.values(), submission.ungradable or ""])
    assert r"\x1b]0;x\x07\u202e/conftest.py" in said
    assert said.isprintable()


# --- Names and digests


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/c/alice", "/c/bob.zip"], ["alice", "bob"]),
        (["/c/alice.ZIP"], ["alice"]),
        (["/c/alice/hw", "/c/bob/hw"], ["alice/hw", "bob/hw"]),
        (["/c/alice/hw.zip", "/c/bob/hw", "/c/eve"], ["alice/hw", "bob/hw", "eve"]),
        (["/hw", "/a/hw"], ["/hw", "a/hw"]),
        (["/c/alice", "/c/alice.zip"], ["alice", "alice.zip"]),
        (["/c/alice", "/c/alice", "/c/./alice/"], ["alice", "alice (2)", "alice (3)"]),
        (["/c/a", "/c/a (2)", "/c/a"], ["a", "a (2)", "a (3)"]),
        (["/c/a\x1b", "/c/a\\x1b"], [r"a\x1b", r"a\x1b (2)"]),
        (["/c/x\ny"], [r"x\x0ay"]),
        (["/c/modules.py"], ["modules.py"]),
        (["/"], ["/"]),
        ([], []),
    ],
)
def test_names_are_the_shortest_tails_that_tell_apart(paths: list[str], names: list[str]) -> None:
    assert name_submissions([Path(path) for path in paths]) == names


@given(st.lists(st.lists(st.sampled_from(["a", "b", "a.zip", "a (2)", "\x1b", "x" * 300]), min_size=1, max_size=3)))
def test_names_are_unique_and_printable(paths: list[list[str]]) -> None:
    names = name_submissions([Path("/", *parts) for parts in paths])
    assert len(set(names)) == len(paths) == len(names)
    assert all(name.isprintable() for name in names)


def test_a_given_name_is_kept_and_made_printable(make: Callable[..., Path]) -> None:
    assert read(make({"modules.py": MODULES}), name="team\x1b 7").name == r"team\x1b 7"


def test_the_digest_is_of_the_content_alone(tmp_path: Path) -> None:
    one = read(folder(tmp_path / "alice", {"modules.py": "a\r\n", "budget.py": b"\xff"}))
    two = read(zipped(tmp_path / "bob.zip", {"hw/exercises/modules.py": "a\n", "hw/exercises/budget.py": b"\xff"}))
    assert one.digest == two.digest
    assert len(one.digest) == len(hashlib.sha256().hexdigest())


@pytest.mark.parametrize(
    "other",
    [
        {"modules.py": "b"},
        {"budget.py": "a"},
        {"modules.py": "a", "budget.py": ""},
        {"modules.py": "a", "budget.py": b"\xff"},
    ],
)
def test_another_content_has_another_digest(tmp_path: Path, other: Mapping[str, str | bytes]) -> None:
    one = read(folder(tmp_path / "alice", {"modules.py": "a"}))
    assert one.digest != read(folder(tmp_path / "bob", other)).digest


# --- Classes


def test_class_entries_are_the_submissions_sorted(tmp_path: Path) -> None:
    loose = [
        "bob.zip",
        "carol.ipynb",
        "dave.rar",
        "modules.py",
        "Budget (1).py",
        "grades.csv",
        "collect.py",
        "README.md",
    ]
    folder(tmp_path / "class", dict.fromkeys(loose, "x"))
    folder(tmp_path / "class", {".git/x": "", ".DS_Store": "", "__MACOSX/x": "", "alice/modules.py": MODULES})
    (tmp_path / "class" / "eve").symlink_to(tmp_path)
    names = [entry.relative_to(tmp_path / "class").as_posix() for entry in class_entries(tmp_path / "class", FILES)]
    assert names == ["Budget (1).py", "alice", "bob.zip", "carol.ipynb", "dave.rar", "eve", "modules.py"]


def test_a_linked_class_entry_is_listed_and_refused(tmp_path: Path) -> None:
    (folder(tmp_path / "class", {}) / "eve").symlink_to(folder(tmp_path / "alice", {"modules.py": MODULES}))
    (entry,) = class_entries(tmp_path / "class")
    refused(read(entry), "symbolic link")


def test_an_empty_class_has_no_entries(tmp_path: Path) -> None:
    assert class_entries(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "reason"), [("nothing", "There is no folder"), ("a\0b", "There is no folder"), ("file", "is not a folder")]
)
def test_a_class_that_is_no_folder_is_a_usage_error(tmp_path: Path, name: str, reason: str) -> None:
    folder(tmp_path, {"file": "x"})
    with pytest.raises(SubmissionUsageError, match=reason):
        class_entries(tmp_path / name)


def test_a_class_is_never_cut_silently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.submissions.MAX_FOLDER_ENTRIES", 3)
    folder(tmp_path, {f"{index}/modules.py": "" for index in range(3)})
    assert len(class_entries(tmp_path)) == 3
    folder(tmp_path, {"3/modules.py": ""})
    with pytest.raises(SubmissionUsageError, match="more than 3 entries"):
        class_entries(tmp_path)
