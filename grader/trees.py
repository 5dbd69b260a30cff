"""What a submission looks like to the reader: folders that can be listed and files that can be read, no surprises.

`FolderTree` reads a folder on disk. Every step is relative to the descriptor of the folder above it and follows no
link, so a folder that is swapped while we read cannot send us elsewhere. `archives.ZipTree` offers the same for a zip.
"""

import errno
import itertools
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self

from grader.sourcetext import Unreadable
from nanolm.untrusted import printable

MAX_FILE_BYTES = 256 * 1024
MAX_NOTEBOOK_BYTES = 256 * 1024 * 1024
"""Of a notebook, outputs included: they are passed over, not kept."""
MAX_FOLDER_ENTRIES = 10_000

Folder = tuple[str, ...]
"""The folder names from the top of a submission; `()` is the top."""

_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Listing:
    """The names in one folder, sorted; hidden files and what operating systems leave behind are not in it."""

    files: tuple[str, ...]
    folders: tuple[str, ...]
    links: tuple[str, ...] = ()


class Tree(Protocol):
    """A submission as a tree of folders and files."""

    @property
    def notes(self) -> Sequence[str]:
        """Harmless things that were met while reading it."""

    @property
    def refused(self) -> Mapping[str, str]:
        """File name -> why a file of that name was refused, before any place was looked at."""

    def listing(self, folder: Folder) -> Listing:
        """Lists one folder. Raises Unreadable."""

    def read(self, folder: Folder, name: str) -> bytes:
        """Reads one file of at most MAX_FILE_BYTES. Raises Unreadable."""

    def open(self, folder: Folder, name: str) -> AbstractContextManager[tuple[IO[bytes], int]]:
        """A file of at most MAX_NOTEBOOK_BYTES and its size, opened; the opening raises Unreadable."""


def is_clutter(name: str) -> bool:
    """Whether this is a hidden entry or one that an operating system or Python left behind."""
    return name.startswith(".") or name in {"__MACOSX", "__pycache__"}


def shown_path(folder: Folder, name: str) -> str:
    """`exercises/modules.py`, safe to print."""
    return printable("/".join((*folder, name)), 120)


def size_in_words(size: int) -> str:
    """A limit as students read it: `256 KiB`, `20 MiB`."""
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def read_regular_file(path: str | Path, shown: str, limit: int, dir_fd: int | None = None) -> bytes:
    """Reads a plain file that is no link, has one name only and holds at most `limit` bytes. Raises Unreadable.

    The kind is looked up before the opening, since opening a device can act on it, and again on the open descriptor,
    which is what counts.
    """
    with open_regular_file(path, shown, limit, dir_fd) as (stream, _):
        try:
            data = stream.read(limit + 1)
        except OSError as error:
            raise unreadable_because(error, shown) from None
    if len(data) > limit:
        raise too_large(shown, limit)
    return data


@contextmanager
def open_regular_file(
    path: str | Path, shown: str, limit: int, dir_fd: int | None = None
) -> Iterator[tuple[IO[bytes], int]]:
    """The same file, opened for reading, and its size. Raises Unreadable."""
    try:
        _refuse_unless_plain(os.stat(path, dir_fd=dir_fd, follow_symlinks=False), shown, limit)
        stream = os.fdopen(os.open(path, _OPEN_FLAGS, dir_fd=dir_fd), "rb")
    except OSError as error:
        raise unreadable_because(error, shown) from None
    with stream:
        status = os.fstat(stream.fileno())
        _refuse_unless_plain(status, shown, limit)
        yield stream, status.st_size


def _refuse_unless_plain(status: os.stat_result, shown: str, limit: int) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise Unreadable(f"{shown} is a symbolic link, which is not followed: hand in the file itself.")
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable(f"{shown} is not a regular file: hand in a plain file of that name.")
    if status.st_nlink != 1:
        raise Unreadable(f"{shown} is a hard link, a second name of another file: hand in a copy of the file.")
    if status.st_size > limit:
        raise too_large(shown, limit)


def too_large(shown: str, limit: int) -> Unreadable:
    """The refusal of a file that is larger than it may be."""
    return Unreadable(
        f"{shown} is larger than {size_in_words(limit)}: remove what does not belong to the answer "
        "and hand it in again."
    )


def unreadable_because(error: OSError, shown: str) -> Unreadable:
    """The sentence for an operating-system error met while opening or reading `shown`."""
    if error.errno in {errno.EACCES, errno.EPERM}:
        return Unreadable(f"{shown} may not be read (permission denied): make it readable and hand it in again.")
    if error.errno == errno.ELOOP:
        return Unreadable(f"{shown} is a symbolic link, which is not followed: hand in the file itself.")
    detail = os.strerror(error.errno) if error.errno else "input/output error"
    return Unreadable(f"{shown} cannot be read ({detail}): check it and hand it in again.")


class FolderTree:
    """A submitted folder; a context manager that holds the descriptors of the folders it has opened."""

    def __init__(self, top: Path, exact_names: Sequence[str]) -> None:
        """`exact_names` are found even in a folder too large to be listed whole. Raises Unreadable."""
        self.notes: list[str] = []
        self.refused: Mapping[str, str] = {}
        self._exact_names = exact_names
        self._stack = ExitStack()
        self._descriptors: dict[Folder, int] = {(): self._open_folder(top, "The submission folder", None)}

    def __enter__(self) -> Self:
        """Return the tree itself: the descriptors are open already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every descriptor."""
        self._stack.close()

    def listing(self, folder: Folder) -> Listing:
        """See Tree; of a folder with too many entries only the exact names are listed, with a note."""
        try:
            descriptor = self._descriptor(folder)
            with os.scandir(descriptor) as entries:
                kinds = {
                    entry.name: _kind(entry.is_dir(follow_symlinks=False), entry.is_symlink())
                    for entry in itertools.islice(entries, MAX_FOLDER_ENTRIES + 1)
                }
            if len(kinds) > MAX_FOLDER_ENTRIES:
                kinds = self._kinds_of_exact_names(descriptor)
                place = shown_path(folder[:-1], folder[-1]) + "/" if folder else "The folder"
                self.notes.append(
                    f"{place} holds more than {MAX_FOLDER_ENTRIES} entries; only files with the exact names of the "
                    "exercises were looked for."
                )
        except OSError as error:
            raise unreadable_because(error, _shown_folder(folder)) from None
        names = sorted(name for name in kinds if not is_clutter(name))
        return Listing(
            files=tuple(name for name in names if kinds[name] != "folder"),
            folders=tuple(name for name in names if kinds[name] == "folder"),
            links=tuple(name for name in names if kinds[name] == "link"),
        )

    def read(self, folder: Folder, name: str) -> bytes:
        """See Tree."""
        return read_regular_file(name, shown_path(folder, name), MAX_FILE_BYTES, self._descriptor(folder))

    def open(self, folder: Folder, name: str) -> AbstractContextManager[tuple[IO[bytes], int]]:
        """See Tree."""
        return open_regular_file(name, shown_path(folder, name), MAX_NOTEBOOK_BYTES, self._descriptor(folder))

    def _kinds_of_exact_names(self, descriptor: int) -> dict[str, str]:
        # The order of a listing is the file system's whim: a cut one would grade differently from disk to disk.
        kinds = {}
        for name in self._exact_names:
            try:
                mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
            except FileNotFoundError:
                continue
            kinds[name] = _kind(stat.S_ISDIR(mode), stat.S_ISLNK(mode))
        return kinds

    def _descriptor(self, folder: Folder) -> int:
        if folder not in self._descriptors:
            above = self._descriptor(folder[:-1])
            self._descriptors[folder] = self._open_folder(folder[-1], _shown_folder(folder), above)
        return self._descriptors[folder]

    def _open_folder(self, path: str | Path, shown: str, dir_fd: int | None) -> int:
        try:
            if stat.S_ISLNK(os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode):
                raise Unreadable(f"{shown} is a symbolic link, which is not followed: hand in the folder itself.")
            descriptor = os.open(path, _OPEN_FLAGS | os.O_DIRECTORY, dir_fd=dir_fd)
        except OSError as error:
            raise unreadable_because(error, shown) from None
        self._stack.callback(os.close, descriptor)
        return descriptor


def _kind(is_folder: bool, is_link: bool) -> str:
    return "link" if is_link else "folder" if is_folder else "file"


def _shown_folder(folder: Folder) -> str:
    return shown_path(folder[:-1], folder[-1]) + "/" if folder else "The submission folder"
