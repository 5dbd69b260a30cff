"""Submitted zips: unsafe names, odd members, bombs, patched headers, and bytes that are no zip at all."""

import io
import stat
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import archives
from grader.submissions import Submission
from selftests.making_submissions import BUDGET, MODULES, read, refused, told, zipped


def members(path: Path, *entries: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    """A zip with these members as given, duplicates and odd attributes included."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in entries:
            archive.writestr(info, data)
    return path


@pytest.mark.parametrize(
    "stored",
    ["/modules.py", "../modules.py", "a/../../modules.py", "exercises\\modules.py", "C:/modules.py", "C:modules.py"],
)
def test_ours_under_an_unsafe_path_is_a_problem(tmp_path: Path, stored: str) -> None:
    submission = read(zipped(tmp_path / "alice.zip", {stored: MODULES, "budget.py": BUDGET}))
    assert submission.files == {"budget.py": BUDGET}
    assert "unsafe path" in submission.problems["modules.py"]
    assert told(submission, stored)


def test_an_unsafe_member_does_not_spoil_the_rest(tmp_path: Path) -> None:
    odd = {f"../../etc/{name}": "x" for name in "abcde"}
    submission = read(zipped(tmp_path / "alice.zip", {**odd, "../modules.py": "x", "modules.py": MODULES}))
    assert submission.files == {"modules.py": MODULES}
    assert submission.problems == {}
    assert told(submission, "../../etc/a, ../../etc/b, ../../etc/c and 3 more")


def test_a_nul_in_a_member_name_does_not_forge_another(tmp_path: Path) -> None:
    path = zipped(tmp_path / "alice.zip", {"modules.py_txt": MODULES, "budget.py": BUDGET})
    path.write_bytes(path.read_bytes().replace(b"modules.py_txt", b"modules.py\0txt"))
    submission = read(path)
    assert submission.files == {"budget.py": BUDGET}
    assert "unsafe path" in submission.problems["modules.py"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("second", ["modules.py", "./modules.py", ".//modules.py"])
def test_a_member_stored_twice_is_a_problem(tmp_path: Path, second: str) -> None:
    path = members(tmp_path / "alice.zip", ("modules.py", b"a"), (second, b"b"), ("budget.py", BUDGET.encode()))
    submission = read(path)
    assert submission.files == {"budget.py": BUDGET}
    assert "in the zip 2 times" in submission.problems["modules.py"]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(stat.S_IFLNK, "a symbolic link"), (stat.S_IFIFO, "not a regular file"), (stat.S_IFCHR, "not a")],
)
def test_a_member_that_is_no_file_is_a_problem(tmp_path: Path, kind: int, reason: str) -> None:
    link = zipfile.ZipInfo("modules.py")
    link.external_attr = (kind | 0o777) << 16
    submission = read(members(tmp_path / "alice.zip", (link, b"/etc/passwd"), ("budget.py", BUDGET.encode())))
    assert submission.files == {"budget.py": BUDGET}
    assert reason in submission.problems["modules.py"]


def patched(path: Path, offset_local: int, offset_central: int, value: bytes) -> Path:
    """Overwrites one field of a one-member zip, in the local and in the central header."""
    data = bytearray(path.read_bytes())
    central = data.index(b"PK\x01\x02")
    data[offset_local : offset_local + len(value)] = value
    data[central + offset_central : central + offset_central + len(value)] = value
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("local", "central", "value", "reason"),
    [
        (6, 8, b"\x01\x00", "is encrypted"),
        (6, 8, b"\x41\x00", "is encrypted"),
        (8, 10, b"\x09\x00", "compressed in a way that is not accepted"),
        (8, 10, b"\xff\xff", "compressed in a way that is not accepted"),
        (14, 16, b"\0\0\0\0", "is damaged in the zip"),
        (26, 28, b"\x09\x00", "damaged or cut short"),
    ],
)
def test_a_patched_header_is_told(tmp_path: Path, local: int, central: int, value: bytes, reason: str) -> None:
    path = zipped(tmp_path / "alice.zip", {"modules.py": MODULES})
    refused(read(patched(path, local, central, value)), reason)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_without_a_bounded_read_are_refused(tmp_path: Path, method: int) -> None:
    refused(read(zipped(tmp_path / "alice.zip", {"modules.py": MODULES}, method)), "compressed in a way")


def test_a_folder_named_like_a_file_is_not_an_exercise(tmp_path: Path) -> None:
    refused(read(zipped(tmp_path / "alice.zip", {"modules.py/": "", "modules.py/x": ""})), "is a folder, not a file")


def test_a_stored_member_is_read(tmp_path: Path) -> None:
    assert (
        read(zipped(tmp_path / "alice.zip", {"modules.py": MODULES}, zipfile.ZIP_STORED)).files["modules.py"] == MODULES
    )


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    refused(read(zipped(tmp_path / "alice.zip", {"modules.py": b"\0" * (64 << 20)})), "larger than 256 KiB")


def test_a_bomb_that_lies_about_its_size_yields_no_more_than_it_says(tmp_path: Path) -> None:
    path = zipped(tmp_path / "alice.zip", {"modules.py": b"\0" * (64 << 20)})
    refused(read(patched(path, 22, 24, (1000).to_bytes(4, "little"))), "is damaged in the zip")


def test_an_encrypted_member_does_not_spoil_the_rest(tmp_path: Path) -> None:
    path = patched(zipped(tmp_path / "alice.zip", {"modules.py": MODULES, "budget.py": BUDGET}), 6, 8, b"\x01\x00")
    submission = read(path)
    assert submission.files == {"budget.py": BUDGET}
    assert "without a password" in submission.problems["modules.py"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty (0 bytes)"),
        (b"hello", "is not a zip:"),
        (b"Rar!\x1a\x07\x01\x00", "looks like a RAR archive"),
        (b"7z\xbc\xaf\x27\x1c\x00", "looks like a 7z archive"),
        (b"\x1f\x8b\x08\x00", "looks like a gzip file"),
        (b"<!DOCTYPE html>", "looks like a web page"),
        (b"PK\x03\x04 and then nothing", "damaged or cut short"),
    ],
)
def test_what_is_named_zip_but_is_none_is_told(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "alice.zip"
    path.write_bytes(data)
    refused(read(path), reason)


def test_a_member_name_in_broken_utf8_is_told(tmp_path: Path) -> None:
    path = zipped(tmp_path / "alice.zip", {"modules.py": MODULES, "é.txt": "x"})
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xff"))
    refused(read(path), "damaged or cut short")


def test_a_zip_over_the_size_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "alice.zip"
    with path.open("wb") as stream:
        stream.truncate(archives.MAX_ARCHIVE_BYTES + 1)
    refused(read(path), "The zip is larger than 20 MiB")


@pytest.mark.parametrize(("extra", "fits"), [(1999, True), (2000, False), (25_000, False)])
def test_the_number_of_members_is_limited(tmp_path: Path, extra: int, fits: bool) -> None:
    contents = {"modules.py": MODULES} | {f"data/{index}": "" for index in range(extra)}
    submission = read(zipped(tmp_path / "alice.zip", contents, zipfile.ZIP_STORED))
    assert (submission.files == {"modules.py": MODULES}) == fits
    assert (submission.ungradable is None) == fits
    assert fits or "more than 2000 entries" in (submission.ungradable or "")


def test_members_of_crowded_archives_are_counted_before_they_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(tmp_path / "alice.zip", {f"{index}": "" for index in range(20_001)}, zipfile.ZIP_STORED)
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_: pytest.fail("the archive was parsed"))
    refused(read(path), "more than 2000 entries")


GOOD_ZIP = io.BytesIO()
with zipfile.ZipFile(GOOD_ZIP, "w", zipfile.ZIP_DEFLATED) as _archive:
    _archive.writestr("hw/exercises/modules.py", MODULES * 20)
    _archive.writestr("hw/exercises/budget.py", BUDGET)


def read_bytes_as_zip(data: bytes) -> Submission:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "alice.zip"
        path.write_bytes(data)
        return read(path)


@pytest.mark.parametrize("length", range(0, len(GOOD_ZIP.getvalue()), 7))
def test_a_truncated_zip_is_told(length: int) -> None:
    refused(read_bytes_as_zip(GOOD_ZIP.getvalue()[:length]), "hand that in")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(GOOD_ZIP.getvalue()) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_corrupt_zip_never_raises_and_never_yields_other_text(changes: list[tuple[int, int]]) -> None:
    data = bytearray(GOOD_ZIP.getvalue())
    for position, value in changes:
        data[position] = value
    submission = read_bytes_as_zip(bytes(data))
    assert (submission.ungradable is None) == bool(submission.files)
    assert set(submission.files.values()) <= {MODULES * 20, BUDGET}
