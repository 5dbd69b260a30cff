"""Scratch directories that students' code may fill: made private, and removed whatever was put there."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def make(prefix: str = "nanolm-") -> Path:
    """A fresh directory that only this user can enter."""
    return Path(tempfile.mkdtemp(prefix=prefix)).resolve()


def remove(folder: Path) -> None:
    """Delete a directory and everything below it, however deep, following no link. Call it once nobody writes there.

    `shutil.rmtree` recurses and takes a file descriptor a level, so that a few thousand nested directories defeat it.
    Here the content of each directory is moved up to the top before the directory is removed, and nothing ever lies
    deeper than two levels.
    """
    pending = _entries(folder)
    moved = 0
    while pending:
        entry = pending.pop()
        with suppress(OSError):
            if entry.is_symlink() or not entry.is_dir():
                entry.unlink()
                continue
            entry.chmod(0o700)
            for inner in _entries(entry):
                moved += 1
                target = folder / f".removed-{moved}"
                inner.rename(target)
                pending.append(target)
            entry.rmdir()
    with suppress(OSError):
        folder.rmdir()


def _entries(folder: Path) -> list[Path]:
    with suppress(OSError):
        folder.chmod(0o700)
        return [folder / name for name in os.listdir(folder)]
    return []
