"""The proof that nothing secret stands in the students' copy."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.stubs import MARKER_LIKE, Region, split

BINARY = (".safetensors", ".png")
"""The only files of the copy that need not be text: nobody can read a line of code in them."""

WHOLE_LINE, ANYWHERE = 15, 25
RUN_LINES, RUN_LENGTH = 3, 60


class ReleaseError(RuntimeError):
    """The students' copy cannot be written, or does not work; the text is one sentence for the instructor."""


class Secrets:
    """What must not stand in the students' copy, and the search for it.

    Four things are leaks; blank space is normalised, and a notebook is read cell by cell and as a whole, every string
    of it. One that holds an output or an attachment is refused: nobody reads a picture.

    1. A file of `mistakes/`, whole.
    2. Anything that looks like a solution marker.
    3. A statement of a solution region that does not also stand outside all regions: from 15 characters on as a whole
       line, from 25 on also inside one (a comment, a sentence, a string). Comments and lines that only open a block do
       not count: an oracle may well say `for _ in range(n_iters):` too.
    4. Three neighbouring code lines of a bank file, 60 characters together, at least two of which do not stand in the
       stubs. Imports, comments, docstrings and blank lines of the bank are passed over, and so are imports, comments
       and blank lines of the copy. A single line would not do: bank files share theirs with one another and with
       honest tests. Three in the same order are a copy.
    """

    def __init__(self, root: Path) -> None:
        self.region_lines: dict[str, str] = {}
        self.runs: dict[tuple[str, ...], str] = {}
        self.bank_files: dict[bytes, str] = {}
        outside: set[str] = set()
        for path in sorted((root / "solutions").glob("*.py")):
            for part in split(path.read_text(encoding="utf-8"), path.name):
                if isinstance(part, Region):
                    for line in map(_plain, part.lines):
                        if len(line) >= WHOLE_LINE and not line.startswith("#") and not line.endswith(":"):
                            self.region_lines.setdefault(line, f"solutions/{path.name}")
                else:
                    outside.add(_plain(part))
        for line in outside & self.region_lines.keys():
            del self.region_lines[line]
        for path in sorted((root / "mistakes").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(root).as_posix()
                self.bank_files[path.read_bytes().strip()] = name
                if path.suffix == ".py":
                    self._add_bank_file(name, path.read_text(encoding="utf-8"), outside)
        if not self.region_lines or not self.runs:
            raise ReleaseError("solutions/ or mistakes/ is empty, so nothing can be proven about the copy")

    def _add_bank_file(self, name: str, text: str, public: set[str]) -> None:
        code = [line for _, line in _code(_without_docstrings(text).splitlines())]
        for start in range(len(code) - RUN_LINES + 1):
            run = tuple(code[start : start + RUN_LINES])
            if sum(map(len, run)) >= RUN_LENGTH and sum(line not in public for line in run) >= 2:
                self.runs.setdefault(run, name)

    def leak(self, name: str, data: bytes) -> str | None:
        """The first leak in a file of the copy, as a clause that names file and line; None where there is none."""
        if data.strip() and data.strip() in self.bank_files:
            return f"{name} is {self.bank_files[data.strip()]}"
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return None if name.endswith(BINARY) else f"{name} is not text, so nobody can say what is in it"
        for place, lines in _parts(name, text):
            if found := self._leak_in(f"{name}{place}", lines):
                return found
        return None

    def _leak_in(self, place: str, lines: list[str]) -> str | None:
        for number, line in enumerate(lines, 1):
            if MARKER_LIKE.search(line):
                return f"{place} line {number} looks like a solution marker: {line.strip()[:80]!r}"
        plain = [_plain(line) for line in lines]
        whole, joined = set(plain), "\n".join(plain)
        for secret, origin in self.region_lines.items():
            if secret in whole or (len(secret) >= ANYWHERE and secret in joined):
                number = next(n for n, line in enumerate(plain, 1) if secret in line)
                return f"{place} line {number} holds a line of a solution in {origin}: {secret!r}"
        code = list(_code(lines))
        for start in range(len(code) - RUN_LINES + 1):
            run = tuple(line for _, line in code[start : start + RUN_LINES])
            if run in self.runs:
                return f"{place} line {code[start][0]} begins with lines of {self.runs[run]}: {run[0]!r}"
        return None


def _plain(line: str) -> str:
    return " ".join(line.split())


def _code(lines: list[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(map(_plain, lines), 1):
        if line and not line.startswith("#") and not re.match(r"(import|from)\b", line):
            yield number, line


def _without_docstrings(text: str) -> str:
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            first = node.body[0]
            lines[first.lineno - 1 : first.end_lineno] = [""] * ((first.end_lineno or 0) - first.lineno + 1)
    return "\n".join(lines)


def _parts(name: str, text: str) -> Iterator[tuple[str, list[str]]]:
    """The lines that a person sees: of a notebook cell by cell, then every string that it holds, in one piece."""
    if not name.endswith(".ipynb"):
        yield "", text.splitlines()
        return
    try:
        content = json.loads(text)
        cells = [(str(cell.get("id", number)), cell) for number, cell in enumerate(content["cells"], 1)]
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ReleaseError(f"nothing was written, because {name} is not a notebook: {error}") from error
    for cell_id, cell in cells:
        if cell.get("outputs") or cell.get("attachments"):
            raise ReleaseError(
                f"nothing was written, because {name} cell {cell_id} holds an output or an attachment, in which an "
                "answer could stand: run `nanolm notebooks`"
            )
        yield f" cell {cell_id}", "\n".join(_strings(cell.get("source", ""))).splitlines()
    yield "", "\n".join(_strings(content)).splitlines()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield "".join(value)  # nbformat splits a cell into lines that keep their ends
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)
