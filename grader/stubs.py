"""Stubs from solutions: each marked region becomes one `raise NotImplementedError("<exercise>: <what to write>")`.

A region is `### BEGIN SOLUTION <exercise>: <task>` … `### END SOLUTION` (nbgrader's markers, with the task on the
first). Everything that could leak is an error here: an unpaired or misspelt marker, a missing task, a region that is
empty. Whatever stands below `exercises/` is compared with the last generated stub (`exercises/STUBS.sha256`) first: a
student's or an instructor's own work is never overwritten.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nanolm.course import EXERCISES, GIVEN_FILES, exercise_files

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
KNOWN = "STUBS.sha256"
MARKER_LIKE = re.compile(r"#+\s*(begin|end)\s+(solution|hidden)", re.IGNORECASE)
TASK = re.compile(rf"^(?P<indent>\s*){BEGIN} (?P<exercise>[a-z_]+): (?P<task>\S.*)$")


class StubError(ValueError):
    """A solution file that no stub can safely be made from, or a stub that must not be overwritten."""


@dataclass(frozen=True)
class Region:
    """One solution region: its exercise and task, and its lines without the markers."""

    exercise: str
    task: str
    indent: str
    lines: tuple[str, ...]

    @property
    def stub(self) -> str:
        """The line that stands for the region in the stub."""
        return f'{self.indent}raise NotImplementedError("{self.exercise}: {self.task}")'


def split(text: str, name: str) -> Iterator[str | Region]:
    """The lines outside regions, and the regions, in order."""
    opened: Region | None = None
    body: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if BEGIN in line:
            match = TASK.match(line)
            if opened is not None or match is None:
                raise StubError(
                    f"{name} line {number}: expected `{BEGIN} <exercise>: <task>`, not inside another region"
                )
            if match["exercise"] not in EXERCISES or '"' in match["task"] or "\\" in match["task"]:
                raise StubError(f"{name} line {number}: unknown exercise, or a quote in the task")
            opened, body = Region(match["exercise"], match["task"].strip(), match["indent"], ()), []
        elif line.strip() == END:
            if opened is None or not any(part.strip() for part in body):
                raise StubError(f"{name} line {number}: `{END}` without a region before it, or an empty region")
            yield Region(opened.exercise, opened.task, opened.indent, tuple(body))
            opened = None
        # With both markers of a pair misspelt, whatever the spelling, the solution would stand in the stub.
        elif MARKER_LIKE.search(line) or line.lstrip().startswith("###"):
            raise StubError(f"{name} line {number}: looks like a solution marker but is not spelt like one")
        elif opened is not None:
            body.append(line)
        else:
            yield line
    if opened is not None:
        raise StubError(f"{name}: the region of {opened.exercise!r} has no `{END}`")


def make_stub(text: str, name: str) -> str:
    """The stub of a solution file."""
    parts = [part.stub if isinstance(part, Region) else part for part in split(text, name)]
    return "\n".join(parts) + "\n"


def stub_files(root: Path) -> dict[str, str]:
    """Name and text of every file of `exercises/`, made from `solutions/`."""
    made = {}
    for name in (*GIVEN_FILES, *exercise_files()):
        try:
            solution = (root / "solutions" / name).read_text(encoding="utf-8")
            made[name] = make_stub(solution, f"solutions/{name}")
            ast.parse(made[name])
        except (OSError, UnicodeDecodeError) as error:
            raise StubError(f"solutions/{name} cannot be read: {error}") from error
        except SyntaxError as error:
            raise StubError(f"the stub of solutions/{name} is not Python: line {error.lineno}, {error.msg}") from error
    return made


def write_stubs(root: Path, *, force: bool = False) -> list[str]:
    """Write changed stubs; returns their names. Refuses to replace a file that is not a known stub, unless forced."""
    made = stub_files(root)
    known = known_stubs(root)
    strangers = [
        name for name, text in made.items() if not force and not _may_replace(root / "exercises" / name, text, known)
    ]
    if strangers:
        raise StubError(
            f"not a stub any more: {', '.join(f'exercises/{name}' for name in strangers)}. Somebody has worked there, "
            "so nothing was written. Move that work away, or say --force to replace it."
        )
    changed = []
    for name, text in {**made, KNOWN: known_stubs_text(made)}.items():
        path = root / "exercises" / name
        if not path.is_file() or read_stub(path) != text.encode():
            path.write_text(text, encoding="utf-8")
            changed.append(name)
    return changed


def _may_replace(path: Path, made: str, known: dict[str, str]) -> bool:
    """Whether a file holds nobody's work: absent, given, the new stub already, or exactly the stub last written."""
    if not path.exists() or path.name in GIVEN_FILES:
        return True
    data = read_stub(path)
    return data == made.encode() or digest(data) == known.get(path.name)


def read_stub(path: Path) -> bytes:
    """A file of `exercises/` as it stands, whatever its line ends and its encoding."""
    return path.read_bytes().replace(b"\r\n", b"\n")


def digest(data: bytes) -> str:
    """The digest that `exercises/STUBS.sha256` keeps of each stub."""
    return hashlib.sha256(data).hexdigest()


def known_stubs(root: Path) -> dict[str, str]:
    """File name → digest of the stub that was last generated, in the format of `sha256sum`."""
    path = root / "exercises" / KNOWN
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {name: value for value, _, name in (line.partition("  ") for line in lines)}


def known_stubs_text(made: Mapping[str, str]) -> str:
    """The text of `exercises/STUBS.sha256`."""
    return "".join(f"{digest(text.encode())}  {name}\n" for name, text in sorted(made.items()))
