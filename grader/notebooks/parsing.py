"""The cells of a submitted notebook, read off its bytes: kind, ids and text of each; outputs are dropped.

A large file is read in a process with limits, since a hundred megabytes of JSON may take ten times that as objects:
standard library only.
"""

from __future__ import annotations

import codecs
import json
from dataclasses import dataclass
from typing import Any

MAX_CELLS = 2000
MAX_CELL_CHARACTERS = 256 * 1024
MAX_ALL_CHARACTERS = 2 * 1024 * 1024

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with UTF-16's
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
AGAIN = "open it in Jupyter, save it and hand it in again."


class NoNotebook(Exception):
    """The bytes are no notebook; the text is the end of a sentence that begins with the file's name."""


@dataclass(frozen=True)
class Cell:
    """One cell of a notebook, without its outputs."""

    kind: str
    """`code`, `markdown` or `raw`."""
    source: str
    id: str = ""
    grade_id: str = ""


def parse(data: bytes) -> tuple[list[Cell], list[str]]:
    """The cells of a notebook and what is worth telling, as ends of sentences. Raises NoNotebook."""
    if not data.strip(b" \t\r\n\0"):
        raise NoNotebook("is empty: hand in the notebook itself.")
    text, notes = _decoded(data)
    try:
        content = json.loads(text, object_pairs_hook=_unique)
    except _Twice as error:
        raise NoNotebook(f"says {error} twice in one place, so it has two meanings: {AGAIN}") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}"
        last = error.msg.startswith("Unterminated") or not text[error.pos :].strip()
        why = f"ends in the middle ({where})" if last else f"is not a notebook: its JSON breaks off in {where}"
        raise NoNotebook(f"{why}; {AGAIN}") from None
    except (ValueError, RecursionError, MemoryError):
        raise NoNotebook(f"is not a notebook that can be read; {AGAIN}") from None
    return _cells(content), notes


class _Twice(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Twice(ascii(twice[:40]))
    return made


def _decoded(data: bytes) -> tuple[str, list[str]]:
    """Strict UTF-8 where it is; else what its first bytes, or bytes that UTF-8 never has, say it is."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                text = data[len(mark) :].decode(encoding) if encoding == "utf-8" else data.decode(encoding)
            except UnicodeDecodeError:
                raise NoNotebook(f"is cut or damaged ({encoding.upper()}); {AGAIN}") from None
            return text, [f"began with the byte-order mark of {encoding.upper()}, which was removed."]
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    if b"\0" in data[:64]:
        encoding = json.detect_encoding(data)
        try:
            return data.decode(encoding), [f"is {encoding.upper()}; it was read, but please save it as UTF-8."]
        except UnicodeDecodeError:
            raise NoNotebook(f"is neither UTF-8 nor UTF-16 (line {line}); {AGAIN}") from None
    text = data.decode("latin-1")
    return text, [f"is not UTF-8 (line {line}); it was read as Latin-1, so other letters may look wrong."]


def _cells(content: Any) -> list[Cell]:
    listed = content.get("cells") if isinstance(content, dict) else None
    if listed is None and isinstance(content, dict):  # the format of before 2015
        sheets = content.get("worksheets")
        listed = [
            cell
            for sheet in (sheets if isinstance(sheets, list) else [])
            if isinstance(sheet, dict)
            for cell in _list(sheet.get("cells"))
        ] or None
    if not isinstance(listed, list):
        raise NoNotebook(f"is JSON, but no notebook: it has no cells; {AGAIN}")
    if len(listed) > MAX_CELLS:
        raise NoNotebook(f"has more than {MAX_CELLS} cells: hand in the released notebook with your answers.")
    cells = [_cell(cell) for cell in listed if isinstance(cell, dict)]
    if sum(len(cell.source) for cell in cells) > MAX_ALL_CHARACTERS:
        raise NoNotebook("holds more text than a notebook of this course can: remove what is no part of an answer.")
    return cells


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _cell(cell: dict[str, Any]) -> Cell:
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    text = source.replace("\r\n", "\n").replace("\r", "\n") if isinstance(source, str) else ""
    text = text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if len(text) > MAX_CELL_CHARACTERS:
        raise NoNotebook(f"has a cell of more than {MAX_CELL_CHARACTERS >> 10} KiB: shorten it.")
    metadata = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
    assert isinstance(metadata, dict)
    nbgrader = metadata.get("nbgrader")
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else ""
    kind, cell_id = cell.get("cell_type"), cell.get("id", metadata.get("id"))
    return Cell(
        kind if isinstance(kind, str) and kind in ("code", "markdown", "raw") else "raw",
        text,
        cell_id if isinstance(cell_id, str) else "",
        grade_id if isinstance(grade_id, str) else "",
    )
