"""Builds submissions for the self-tests: folders, zips, and the two questions asked of what was read."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

from grader.submissions import Submission, read_submission

FILES = ("modules.py", "budget.py", "block.py")
MODULES = "class RMSNorm: ...\n"
BUDGET = "def ffn_params(): ...\n"
KIB = 1024


def read(path: Path, name: str | None = None) -> Submission:
    return read_submission(path, FILES, name=name)


def folder(path: Path, contents: Mapping[str, str | bytes]) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def zipped(path: Path, contents: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def refused(submission: Submission, reason: str) -> None:
    """Asserts that nothing could be read, for this reason."""
    assert submission.files == {}
    assert submission.ungradable is not None
    assert reason in submission.ungradable


def told(submission: Submission, text: str) -> bool:
    return any(text in note for note in submission.notes)
