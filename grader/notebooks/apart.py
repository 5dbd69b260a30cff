"""Work on students' text that may end a process, done in one that may end: limited memory, limited time.

The program is `grader/notebooks/limited.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from grader.notebooks import parsing
from grader.notebooks.parsing import AGAIN, Cell, NoNotebook
from nanolm.answer_parts import Parts

SECONDS = 60.0
SMALL = 4 * 1024 * 1024
"""Bytes of a notebook that are parsed in this process."""

Question = tuple[str, Sequence[str], Sequence[str], Sequence[str]]
"""The arguments of `answer_parts.parts`."""


class Died(Exception):
    """The process ended without an answer."""


def cells_of(stream: IO[bytes], size: int) -> tuple[list[Cell], list[str]]:
    """Cells and notes of a notebook, as `parsing.parse` gives them; a large one never becomes objects here.

    Raises NoNotebook.
    """
    if size <= SMALL:
        return parsing.parse(stream.read(SMALL))
    try:
        answer = _run("cells", stream)
    except Died:
        raise NoNotebook(f"is too large to be read: clear its outputs, or {AGAIN}") from None
    if "reason" in answer:
        raise NoNotebook(answer["reason"])
    return [Cell(*cell) for cell in answer["cells"]], answer["notes"]


def parts_of(questions: Sequence[Question]) -> list[Parts]:
    """What each answer uses of other cells; where a text ends the process, that answer stands alone."""
    try:
        return [Parts(*found) for found in _run("parts", json.dumps(list(questions)).encode())]
    except Died:
        if len(questions) > 1:
            return [part for question in questions for part in parts_of([question])]
        return [Parts("", answer, "") for answer, *_ in questions]


def _run(what: str, given: IO[bytes] | bytes) -> Any:
    command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("limited.py")), what]
    source: dict[str, Any] = {"input": given} if isinstance(given, bytes) else {"stdin": given}
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=SECONDS, check=True, env={}, **source
        )
        return json.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError):
        raise Died from None
