"""A pull request's exercise files: taken from the artifact of its own run as data, and compared with its commit.

Whoever opens a pull request can rewrite the workflow that makes the artifact, so nothing of it is believed. It is read
in memory, never unpacked; only the exercise files are looked at; and a file counts only if its bytes are those that git
has in the commit on which the checks are going to stand.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from grader.archives import MAX_ARCHIVE_BYTES, ZipTree
from grader.github.api import ApiError, GitHub
from grader.github.event import HandIn, Run
from grader.places import EXERCISES as FOLDER
from grader.sourcetext import Unreadable
from nanolm.course import exercise_files

ARTIFACT = "hand-in"
LONGEST_BRANCH = 255
REGULAR = ("100644", "100755")
NOTHING = f"The commit has none of the exercise files in {FOLDER}/: keep them where the course put them."


@dataclass(frozen=True)
class Handed:
    """What is going to be graded; `problem` is set where nothing is, and says to the student why."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    problem: str = ""


def fetch(api: GitHub, run: Run, told: HandIn) -> Handed:
    """The exercise files that a run handed over. Raises ApiError where GitHub does not answer."""
    blobs = committed(api, run.repository, told.commit)
    if not blobs:
        return Handed(problem=NOTHING)
    artifact = _artifact(api, run.repository, told.run)
    if artifact is None:
        return Handed(problem=f"The pull request's run left no artifact named {ARTIFACT}: run it again.")
    data = api.download(f"/repos/{run.repository}/actions/artifacts/{artifact}/zip", MAX_ARCHIVE_BYTES)
    try:
        return compared(data, blobs)
    except Unreadable as error:
        return Handed(problem=f"The artifact of the pull request's run cannot be read. {error}")


def compared(data: bytes, blobs: Mapping[str, str]) -> Handed:
    """The files of a zip, if all of the commit's are in it as they are in the commit. Raises Unreadable."""
    tree = ZipTree(data, list(blobs))
    names = tree.listing(()).files
    files: dict[str, bytes] = {}
    for file, blob in blobs.items():
        if file not in names:
            return Handed(problem=f"{FOLDER}/{file} is in the commit, but was not handed over: run the workflow again.")
        content = tree.read((), file)
        if blob_id(content, blob) != blob:
            return Handed(problem=f"What was handed over as {file} is not what the commit holds: nothing was graded.")
        files[file] = content
    return Handed(files)


def blob_id(content: bytes, like: str) -> str:
    """Git's name for a file of this content, as long as `like`."""
    algorithm = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    return algorithm(b"blob %d\0" % len(content) + content).hexdigest()


def committed(api: GitHub, repository: str, commit: str) -> dict[str, str]:
    """Git's names of the exercise files of a commit, by file; plain files of `exercises/` only. Raises ApiError."""
    top = _entries(api, repository, commit)
    folder = next((sha for path, mode, sha in top if (path, mode) == (FOLDER, "040000")), None)
    if folder is None:
        return {}
    inside = {path: sha for path, mode, sha in _entries(api, repository, folder) if mode in REGULAR}
    return {file: inside[file] for file in exercise_files() if file in inside}


def _entries(api: GitHub, repository: str, tree: str) -> list[tuple[str, str, str]]:
    answer = api.get(f"/repos/{repository}/git/trees/{tree}")
    try:
        found = [(str(each["path"]), str(each["mode"]), str(each["sha"])) for each in answer["tree"]]
    except (KeyError, TypeError):
        raise ApiError("GitHub did not answer with a tree.") from None
    return [entry for entry in found if re.fullmatch(r"[0-9a-f]{40,64}", entry[2])]


def _artifact(api: GitHub, repository: str, run: int) -> int | None:
    """The newest artifact of that name; its number is GitHub's own."""
    query = urlencode({"name": ARTIFACT, "per_page": 100})
    answer = api.get(f"/repos/{repository}/actions/runs/{run}/artifacts?{query}")
    try:
        fitting = [each["id"] for each in answer["artifacts"] if each["name"] == ARTIFACT and not each["expired"]]
    except (KeyError, TypeError):
        raise ApiError("GitHub did not answer with a list of artifacts.") from None
    return max((each for each in fitting if isinstance(each, int)), default=None)


def pull_requests(api: GitHub, run: Run, told: HandIn) -> list[int]:
    """Numbers of the open pull requests of this repository whose head is that very commit. Raises ApiError.

    The event names none for a fork's run. A head that has moved on is not among them: its own run follows.
    """
    if not 0 < len(told.head_branch) <= LONGEST_BRANCH:
        return []
    query = urlencode({"state": "open", "head": f"{told.head_owner}:{told.head_branch}"}, errors="replace")
    return sorted(
        each["number"] for each in api.pages(f"/repos/{run.repository}/pulls?{query}") if _fits(each, run, told)
    )


def _fits(pull: Any, run: Run, told: HandIn) -> bool:
    try:
        head, base = pull["head"], pull["base"]
        same = (head["sha"], head["repo"]["id"]) == (told.commit, told.head_repository)
        return bool(same and base["repo"]["full_name"] == run.repository and isinstance(pull["number"], int))
    except (KeyError, TypeError):  # a fork that was deleted has no repo
        return False


def write_files(folder: Path, files: Mapping[str, bytes]) -> Sequence[Path]:
    """Write checked files into a new folder, to be graded from there."""
    folder.mkdir()
    paths = [folder / file for file in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.write_bytes(content)
    return paths
