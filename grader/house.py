"""Where the course's files are: the folder that holds `tests/` and `exercises/`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from nanolm.course import is_course


class HouseError(RuntimeError):
    """No course folder could be found: grading cannot start."""


def find_root(asked: Path | None = None, submissions: Sequence[Path] = ()) -> Path:
    """The course folder: the one asked for, else the nearest above the working directory, else that of this install.

    A folder inside a submission is passed over: students may hand in their whole copy, and its tests are not ours.
    """
    if asked is not None:
        if not is_course(asked):
            raise HouseError(f"{asked} holds no course: tests/ and exercises/ are expected there")
        return asked.resolve()
    here = Path.cwd()
    theirs = {Path(os.path.realpath(path)) for path in submissions}  # Path.resolve would raise on a loop of links
    for candidate in (here, *here.parents):
        if is_course(candidate) and theirs.isdisjoint((candidate, *candidate.parents)):
            return candidate
    installed = Path(__file__).resolve().parent.parent
    if is_course(installed):
        return installed
    raise HouseError("no course found here or above: go to its folder, or name it with --course DIR")
