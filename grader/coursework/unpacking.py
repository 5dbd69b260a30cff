"""A class's download, a zip, as a folder of plain files: the only archive that is unpacked. Nothing of it is run."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

from grader.archives import is_unsafe
from grader.trees import MAX_NOTEBOOK_BYTES, is_clutter
from nanolm.untrusted import printable

MAX_MEMBERS = 100_000
MAX_BYTES = 16 << 30
DEEPEST = 6
"""Folders above a file: deeper ones are no layout of any class."""


class BadDownload(Exception):
    """The archive as a whole cannot be used; the text says why."""


def unpack(archive: Path, folder: Path) -> list[str]:
    """Write the plain files of a zip below `folder`; returns what was left out and why. Raises BadDownload."""
    try:
        with zipfile.ZipFile(archive) as opened:
            return _members(opened, folder)
    except (OSError, zipfile.BadZipFile, NotImplementedError) as error:
        raise BadDownload(f"{archive} cannot be read as a zip: {error}") from error


def _members(opened: zipfile.ZipFile, folder: Path) -> list[str]:
    members = opened.infolist()
    if len(members) > MAX_MEMBERS:
        raise BadDownload(f"it holds more than {MAX_MEMBERS} entries: is it the download of a class?")
    remarks = []
    written = 0
    for member in members:
        shown = printable(member.orig_filename, 120)
        parts = [part for part in member.filename.split("/") if part not in ("", ".")]
        if member.is_dir():
            continue
        kind = stat.S_IFMT(member.external_attr >> 16)
        if is_unsafe(member.orig_filename) or len(parts) > DEEPEST or kind not in (0, stat.S_IFREG):
            remarks.append(f"{shown} was left out: an unsafe path or no plain file.")
            continue
        if any(is_clutter(part) for part in parts):
            continue
        target = folder.joinpath(*parts)
        try:
            if target.exists():
                raise OSError("it is there twice")
            target.parent.mkdir(parents=True, exist_ok=True)
            written += _write(opened, member, target)
        except Exception as error:  # zipfile answers hostile bytes with a dozen types
            target.unlink(missing_ok=True)
            remarks.append(f"{shown} was left out: {printable(str(error) or type(error).__name__, 120)}.")
        if written > MAX_BYTES:
            raise BadDownload(f"it unpacks to more than {MAX_BYTES >> 30} GiB")
    return remarks


def _write(opened: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> int:
    size = 0
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as copy, opened.open(member) as stream:
        while chunk := stream.read(1 << 20):
            size += len(chunk)
            if size > MAX_NOTEBOOK_BYTES:
                raise ValueError(f"it is larger than {MAX_NOTEBOOK_BYTES >> 20} MiB")
            copy.write(chunk)
    return size
