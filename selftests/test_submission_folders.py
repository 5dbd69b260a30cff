"""Submitted folders that hold links, devices, closed doors or too much, and folders that change while they are read."""

import os
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader import trees
from grader.submissions import Submission
from selftests.making_submissions import BUDGET, FILES, KIB, MODULES, folder, read, refused, told, zipped


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A folder that no submission may reach, with the reference in it."""
    return folder(tmp_path / "secret", {"modules.py": "SOLUTION", "exercises/modules.py": "SOLUTION"})


def _symlink(path: Path, secret: Path) -> None:
    path.symlink_to(secret / "modules.py")


def _hard_link(path: Path, secret: Path) -> None:
    path.hardlink_to(secret / "modules.py")


def _dangling(path: Path, secret: Path) -> None:
    path.symlink_to(secret / "nothing")


def _fifo(path: Path, secret: Path) -> None:
    os.mkfifo(path)


def _directory(path: Path, secret: Path) -> None:
    folder(path, {"__init__.py": "x"})


def _device(path: Path, secret: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero: a read would never end
    except PermissionError:
        pytest.skip("making a device needs root")


def _socket(path: Path, secret: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path is limited to about 100 bytes
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        (_symlink, "symbolic link"),
        (_dangling, "symbolic link"),
        (_hard_link, "hard link"),
        (_fifo, "not a regular file"),
        (_socket, "not a regular file"),
        (_device, "not a regular file"),
    ],
)
@pytest.mark.parametrize("name", ["modules.py", "exercises/modules.py", "Modules.py"])
def test_what_is_not_a_plain_file_is_a_problem(
    tmp_path: Path, secret: Path, plant: Callable[[Path, Path], None], reason: str, name: str
) -> None:
    path = folder(tmp_path / "alice", {"exercises/budget.py": BUDGET})
    plant(path / name, secret)
    submission = read(path)
    assert submission.files == {"budget.py": BUDGET}
    assert reason in submission.problems["modules.py"]


@pytest.mark.parametrize("plant", [_symlink, _dangling, _fifo, _socket, _device])
@pytest.mark.parametrize("name", ["alice", "alice.zip", "modules.py"])
def test_the_submission_itself_must_be_a_folder_or_a_file(
    tmp_path: Path, secret: Path, plant: Callable[[Path, Path], None], name: str
) -> None:
    plant(tmp_path / name, secret)
    refused(read(tmp_path / name), "symbolic link" if plant in {_symlink, _dangling} else "neither a folder nor")


def test_a_hard_linked_zip_is_refused(tmp_path: Path) -> None:
    zipped(tmp_path / "other.zip", {"modules.py": MODULES})
    (tmp_path / "alice.zip").hardlink_to(tmp_path / "other.zip")
    refused(read(tmp_path / "alice.zip"), "hard link")


def test_a_folder_named_like_a_file_is_not_an_exercise(tmp_path: Path, secret: Path) -> None:
    _directory(folder(tmp_path / "alice", {}) / "modules.py", secret)
    refused(read(tmp_path / "alice"), "modules.py is a folder, not a file")
    (tmp_path / "alice" / "budget.py").write_text(BUDGET)
    assert told(read(tmp_path / "alice"), "modules.py is a folder, not a file")


@pytest.mark.parametrize("name", ["exercises", "hw"])
def test_a_linked_folder_is_not_followed(tmp_path: Path, secret: Path, name: str) -> None:
    path = folder(tmp_path / "alice", {})
    (path / name).symlink_to(secret)
    refused(read(path), f"{name}")
    assert "symbolic link" in (read(path).ungradable or "")


def test_a_linked_folder_in_the_only_sub_folder_is_not_followed(tmp_path: Path, secret: Path) -> None:
    path = folder(tmp_path / "alice", {"hw/README.md": "x"})
    (path / "hw" / "exercises").symlink_to(secret)
    refused(read(path), "hw/exercises/ is a symbolic link")


def test_a_linked_exercises_beside_good_files_is_noted(tmp_path: Path, secret: Path) -> None:
    path = folder(tmp_path / "alice", {"budget.py": BUDGET})
    (path / "exercises").symlink_to(secret)
    submission = read(path)
    assert submission.files == {"budget.py": BUDGET}
    assert told(submission, "exercises/ is a symbolic link")


def test_a_link_does_not_count_as_a_second_folder(tmp_path: Path, secret: Path) -> None:
    path = folder(tmp_path / "alice", {"hw/modules.py": MODULES})
    (path / "data").symlink_to(secret)
    assert read(path).files == {"modules.py": MODULES}


def test_an_unrelated_link_beside_good_files_is_not_worth_a_note(tmp_path: Path, secret: Path) -> None:
    path = folder(tmp_path / "alice", {"modules.py": MODULES})
    (path / "data").symlink_to(secret)
    assert read(path).notes == ()


def test_a_linked_submission_folder_is_refused_with_a_slash_too(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "alice").symlink_to(secret)
    refused(read(Path(f"{tmp_path}/alice/")), "symbolic link")


def test_folders_above_the_submission_may_be_links(tmp_path: Path) -> None:
    folder(tmp_path / "real" / "alice", {"modules.py": MODULES})
    (tmp_path / "class").symlink_to(tmp_path / "real")
    assert read(tmp_path / "class" / "alice").files == {"modules.py": MODULES}


def test_a_folder_swapped_after_it_was_opened_does_not_redirect(tmp_path: Path, secret: Path) -> None:
    path = folder(tmp_path / "alice", {"exercises/modules.py": MODULES})
    with trees.FolderTree(path, FILES) as tree:
        tree.listing(("exercises",))
        (path / "exercises").rename(path / "moved")
        (path / "exercises").symlink_to(secret)
        assert tree.read(("exercises",), "modules.py") == MODULES.encode()


def test_a_folder_swapped_after_it_was_looked_up_is_refused(
    tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder(tmp_path / "alice", {"exercises/modules.py": MODULES})
    real_open = os.open

    def swap_then_open(name: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name == "exercises":
            (path / "exercises").rename(path / "moved")
            (path / "exercises").symlink_to(secret)
        return real_open(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap_then_open)
    refused(read(path), "exercises/ cannot be read")


def test_a_file_swapped_after_it_was_looked_up_is_refused(
    tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder(tmp_path / "alice", {"modules.py": MODULES})
    real_open = os.open

    def swap_then_open(name: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name == "modules.py":
            (path / "modules.py").unlink()
            (path / "modules.py").symlink_to(secret / "modules.py")
        return real_open(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap_then_open)
    refused(read(path), "symbolic link")


def test_a_fifo_swapped_in_after_the_look_up_does_not_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder(tmp_path / "alice", {"modules.py": MODULES})
    real_open = os.open

    def swap_then_open(name: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name == "modules.py":
            (path / "modules.py").unlink()
            os.mkfifo(path / "modules.py")
        return real_open(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap_then_open)
    refused(read(path), "not a regular file")


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder(tmp_path / "alice", {"modules.py": b"#" * 300 * KIB})
    monkeypatch.setattr(trees, "_refuse_unless_plain", lambda status, shown, limit: None)
    refused(read(path), "larger than 256 KiB")


@contextmanager
def unprivileged() -> Iterator[Path]:
    """A folder anyone can enter, while this process has no right to read what is closed."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def read_as_nobody(path: Path) -> Submission:
    if os.geteuid() != 0:
        return read(path)
    os.seteuid(65534)
    try:
        return read(path)
    finally:
        os.seteuid(0)


def test_a_file_without_permission_is_a_problem() -> None:
    with unprivileged() as base:
        path = folder(base / "alice", {"modules.py": MODULES, "budget.py": BUDGET})
        (path / "modules.py").chmod(0)
        submission = read_as_nobody(path)
    assert submission.files == {"budget.py": BUDGET}
    assert "modules.py may not be read (permission denied)" in submission.problems["modules.py"]


@pytest.mark.parametrize(
    ("name", "reason"), [("", "The submission folder may not"), ("exercises", "exercises/ may not")]
)
def test_a_folder_that_cannot_be_listed_is_ungradable(name: str, reason: str) -> None:
    with unprivileged() as base:
        path = folder(base / "alice", {"exercises/modules.py": MODULES})
        (path / name).chmod(0)
        submission = read_as_nobody(path)
        (path / name).chmod(0o755)
    refused(submission, reason)


def test_a_huge_folder_yields_exact_names_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MAX_FOLDER_ENTRIES", 20)
    many = {f"data{index}.txt": "" for index in range(30)}
    submission = read(folder(tmp_path / "alice", {**many, "modules.py": MODULES, "Budget.py": BUDGET}))
    assert submission.files == {"modules.py": MODULES}
    assert told(submission, "more than 20 entries")


def test_a_huge_folder_without_an_exact_name_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MAX_FOLDER_ENTRIES", 20)
    many = {f"data{index}.txt": "" for index in range(30)}
    refused(read(folder(tmp_path / "alice", many)), "more than 20 entries")
