"""Every kind of broken submission that an instructor may find in a class folder, each with what must come of it.

A kind is one entry of the class folder: what it is called, how it is made, and what grading it must say. All of them
are graded with two exercises of two files: `swiglu` in `modules.py`, which most kinds break, and `elementwise` in
`elementwise.py`, which most leave right, so that one broken file is seen to cost its own exercise only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nanolm.course import EXERCISES
from selftests.making_submissions import folder
from selftests.running_grade import ANSWERS

PLACES = {"swiglu": "modules.py", "elementwise": "elementwise.py"}
MODULES, ELEMENTWISE = (ANSWERS[file] for file in PLACES.values())
RIGHT = {"modules.py": MODULES, "elementwise.py": ELEMENTWISE}
POINTS = {name: EXERCISES[name].points for name in PLACES}

Contents = Mapping[str, str | bytes]
Build = Callable[[Path], object]


@dataclass(frozen=True)
class Kind:
    """One entry of the class folder and what must be said of it."""

    entry: str
    build: Build
    """Makes the entry at the path it is given; an OSError means that this machine cannot hold such a thing."""
    says: str = ""
    """A part of what is told: the reason, a note, or the message of every failed test."""
    swiglu: str = "passed"
    elementwise: str = "passed"
    gradable: bool = True
    reported: str = ""
    """The name in the table and the JSON; empty where it is the entry's own, without `.zip`."""
    partial: float = 0.0
    """Points that the failed exercises earn all the same."""

    @property
    def name(self) -> str:
        """What the row is called."""
        return self.reported or self.id

    @property
    def id(self) -> str:
        """The student's id, which the entry is named after."""
        return re.sub(r"\.zip$", "", self.entry, flags=re.IGNORECASE)

    @property
    def score(self) -> float:
        """The points that must come of it."""
        if not self.gradable:
            return 0.0
        statuses = {"swiglu": self.swiglu, "elementwise": self.elementwise}
        return self.partial + sum(POINTS[name] for name, status in statuses.items() if status == "passed")


def healthy(entry: str, contents: Contents | Build = RIGHT, says: str = "", reported: str = "") -> Kind:
    """Odd, and full marks all the same."""
    return Kind(entry, made(contents), says, reported=reported)


def costs_its_file(entry: str, contents: Contents | Build, says: str, partial: float = 0.0) -> Kind:
    """`modules.py` earns nothing, `elementwise.py` everything."""
    return Kind(entry, made(contents), says, swiglu="failed", partial=partial)


def left_out(entry: str, contents: Contents | Build, says: str = "") -> Kind:
    """`modules.py` is as good as not handed in."""
    return Kind(entry, made(contents), says, swiglu="not_attempted")


def ungradable(entry: str, contents: Contents | Build, says: str, reported: str = "") -> Kind:
    """Nothing of it can be read: no grade, and a reason."""
    return Kind(entry, made(contents), says, gradable=False, reported=reported)


def made(contents: Contents | Build) -> Build:
    """The builder of a folder with these files, or the builder itself."""
    return contents if callable(contents) else lambda path: folder(path, contents)


def beside(modules: str | bytes) -> Contents:
    """This `modules.py` with a right `elementwise.py`."""
    return {"modules.py": modules, "elementwise.py": ELEMENTWISE}


def and_then(contents: Contents, *steps: Build) -> Build:
    """A folder with these files, to which something is done."""

    def build(path: Path) -> None:
        folder(path, contents)
        for step in steps:
            step(path)

    return build
