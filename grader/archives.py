"""Reads a submitted zip member by member, without ever extracting it.

The whole archive is read into memory first (it is capped), so it cannot change while we look at it. Sizes that the
archive declares are not believed: at most one byte more than the limit is decompressed.
"""

import io
import re
import stat
import tempfile
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import IO

from grader.sourcetext import Unreadable
from grader.trees import MAX_FILE_BYTES, MAX_NOTEBOOK_BYTES, Folder, Listing, is_clutter, shown_path, too_large
from nanolm.untrusted import printable

MAX_ARCHIVE_BYTES = 20 * 1024 * 1024
MAX_ARCHIVE_ENTRIES = 2000
IN_MEMORY = 4 * 1024 * 1024
"""Bytes of a notebook that are not written to a temporary file."""

_DEEPEST = 4  # only-sub-folder/release/module06/01_rmsnorm.ipynb
_ENTRY_SIGNATURE = b"PK\x01\x02"
_OTHER_FORMATS = (
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x1f\x8b", "a gzip file"),
    (b"%PDF", "a PDF"),
    (b"<", "a web page"),
)
# zipfile limits what one read of these decompresses; of bzip2 and LZMA it does not.
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x1
_AGAIN = "zip the exercise files again with your system's own zip command and hand that in."


class ZipTree:
    """A submitted zip as a tree; members under unsafe names are left out and told in `notes` and `refused`."""

    def __init__(self, data: bytes, exercise_files: Collection[str]) -> None:
        """Raises Unreadable when the bytes are no zip, or one with too many entries."""
        self.notes: list[str] = []
        self.refused: dict[str, str] = {}
        self._members: dict[Folder, dict[str, list[zipfile.ZipInfo]]] = {}
        self._folders: dict[Folder, set[str]] = {}
        self._archive = _open_archive(data)
        unsafe = []
        for member in self._archive.infolist():
            if is_unsafe(member.orig_filename):
                unsafe.append(printable(member.orig_filename, 60))
                self._refuse_if_ours(member.orig_filename, exercise_files)
            else:
                self._add(member)
        if unsafe:
            more = f" and {len(unsafe) - 3} more" if len(unsafe) > 3 else ""
            self.notes.append(
                f"Ignored, because the zip stores them under unsafe paths: {', '.join(unsafe[:3])}{more}."
            )

    def listing(self, folder: Folder) -> Listing:
        """See Tree; a folder that is not in the zip is empty."""
        return Listing(
            files=tuple(sorted(self._members.get(folder, ()))),
            folders=tuple(sorted(self._folders.get(folder, ()))),
        )

    def read(self, folder: Folder, name: str) -> bytes:
        """See Tree; `name` must come from the listing."""
        with self._member(folder, name) as stream:
            data = _read(stream, MAX_FILE_BYTES + 1, shown_path(folder, name))
        if len(data) > MAX_FILE_BYTES:
            raise too_large(shown_path(folder, name), MAX_FILE_BYTES)
        return data

    @contextmanager
    def open(self, folder: Folder, name: str) -> Iterator[tuple[IO[bytes], int]]:
        """See Tree; `name` must come from the listing. A large member goes through a file, not through memory."""
        size = 0
        with self._member(folder, name) as stream, tempfile.SpooledTemporaryFile(IN_MEMORY) as copy:
            while chunk := _read(stream, 1 << 20, shown_path(folder, name)):
                size += len(chunk)
                if size > MAX_NOTEBOOK_BYTES:
                    raise too_large(shown_path(folder, name), MAX_NOTEBOOK_BYTES)
                copy.write(chunk)
            if size > IN_MEMORY:
                copy.flush()
            copy.seek(0)
            yield copy, size

    @contextmanager
    def _member(self, folder: Folder, name: str) -> Iterator[IO[bytes]]:
        shown = shown_path(folder, name)
        members = self._members[folder][name]
        if len(members) > 1:
            raise Unreadable(f"{shown} is in the zip {len(members)} times: keep the one that counts and zip it again.")
        member = members[0]
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in {0, stat.S_IFREG}:
            what = "a symbolic link" if kind == stat.S_IFLNK else "not a regular file"
            raise Unreadable(f"{shown} is {what} in the zip: put the file itself into it and hand it in again.")
        if member.flag_bits & _ENCRYPTED:
            raise Unreadable(f"{shown} is encrypted: make a zip without a password and hand it in again.")
        if member.compress_type not in _METHODS:
            raise Unreadable(f"{shown} is compressed in a way that is not accepted here: {_AGAIN}")
        try:
            stream = self._archive.open(member)
        except Exception:  # zipfile answers hostile bytes with a dozen types
            raise _damaged(shown) from None
        with stream:
            yield stream

    def _add(self, member: zipfile.ZipInfo) -> None:
        parts = [part for part in member.filename.split("/") if part not in {"", "."}]
        for depth, part in enumerate(parts[:_DEEPEST]):
            if is_clutter(part):
                return
            folder = tuple(parts[:depth])
            if depth < len(parts) - 1 or member.is_dir():
                self._folders.setdefault(folder, set()).add(part)
            else:
                self._members.setdefault(folder, {}).setdefault(part, []).append(member)

    def _refuse_if_ours(self, stored: str, exercise_files: Collection[str]) -> None:
        name = re.split(r"[\\/:]", stored.split("\0")[0])[-1]
        if name in exercise_files:
            self.refused[name] = f"{name} is stored in the zip under the unsafe path {printable(stored, 60)}: {_AGAIN}"


def _read(stream: IO[bytes], count: int, shown: str) -> bytes:
    try:
        return stream.read(count)
    except Exception:  # NotImplementedError and zlib.error among them
        raise _damaged(shown) from None


def _damaged(shown: str) -> Unreadable:
    return Unreadable(f"{shown} is damaged in the zip: {_AGAIN}")


def is_unsafe(stored: str) -> bool:
    """Whether a member's name is absolute, climbs with `..`, names a drive, or uses `\\` or NUL."""
    drive = re.match(r"[A-Za-z]:", stored)
    return stored.startswith("/") or ".." in stored.split("/") or bool(drive) or "\\" in stored or "\0" in stored


def _open_archive(data: bytes) -> zipfile.ZipFile:
    too_many = Unreadable(
        f"The zip holds more than {MAX_ARCHIVE_ENTRIES} entries: zip only the exercise files and hand that in."
    )
    # Counted before zipfile builds an object for each; generous, since a zip inside the zip is counted too.
    if data.count(_ENTRY_SIGNATURE) > 10 * MAX_ARCHIVE_ENTRIES:
        raise too_many
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except Exception:  # as in ZipTree.read: no list of types is complete
        raise Unreadable(_why_no_zip(data)) from None
    if len(archive.infolist()) > MAX_ARCHIVE_ENTRIES:
        raise too_many
    return archive


def _why_no_zip(data: bytes) -> str:
    if not data:
        return f"The zip is empty (0 bytes): {_AGAIN}"
    if data.startswith(b"PK"):
        return f"The zip is damaged or cut short: {_AGAIN}"
    looks = next((f" (it looks like {what})" for magic, what in _OTHER_FORMATS if data.startswith(magic)), "")
    return f"The file is named .zip but is not a zip{looks}: {_AGAIN}"
