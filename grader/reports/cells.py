"""CSV files of other people's systems: each cell with its place in the text, so that one can be changed and no other.

Python's `csv` gives values and forgets how they were written; a gradebook that goes back to where it came from should
be, outside the cells that were filled, the very bytes that came.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

BOM = "\ufeff"
DELIMITERS = (",", ";", "\t")
MAX_BYTES = 64 * 1024 * 1024

FORMULA = "=+-@\uff1d\uff0b\uff0d\uff20"
"""What makes a spreadsheet take a text for a formula when it stands first; some take the full-width signs too."""
_FIRST_IN_A_CELL = re.compile(rf"(^|[;\t\r\n])( *)(?=[{re.escape(FORMULA)}])")


class SheetError(ValueError):
    """A CSV file cannot be used; the text says where and what to do."""


@dataclass(frozen=True)
class Cell:
    """A value and where it is written: `text[start:end]`, quotes included."""

    value: str
    start: int
    end: int


@dataclass(frozen=True)
class Sheet:
    """A CSV file: its text, a byte-order mark included, and its rows of cells. Empty lines are no rows."""

    text: str
    rows: tuple[tuple[Cell, ...], ...]
    delimiter: str

    @property
    def header(self) -> list[str]:
        """The values of the first row."""
        return [cell.value.strip() for cell in self.rows[0]]

    def column(self, index: int) -> list[str]:
        """A column's values below the header; empty where a row is shorter."""
        return [value_at(row, index) for row in self.rows[1:]]

    def filled(self, values: Mapping[tuple[int, int], str]) -> str:
        """The text with the cells (row, column) replaced; every other character stays.

        Raises SheetError where a row is too short to have the cell.
        """
        spans = []
        for (row, column), value in values.items():
            if column >= len(self.rows[row]):
                raise SheetError(f"row {row + 1} has only {len(self.rows[row])} cells: export the file again")
            cell = self.rows[row][column]
            quoted = self.text[cell.start : cell.end].startswith('"')
            spans.append((cell.start, cell.end, written(value, self.delimiter, always=quoted)))
        pieces, at = [], 0
        for start, end, new in sorted(spans):
            pieces += [self.text[at:start], new]
            at = end
        return "".join([*pieces, self.text[at:]])


def value_at(row: Sequence[Cell], index: int) -> str:
    """A row's value in a column, blanks around it taken off; empty where the row is shorter."""
    return row[index].value.strip() if index < len(row) else ""


def read_sheet(path: Path, needs: Iterable[str] = ()) -> Sheet:
    """Read a CSV file; the delimiter is the one under which the header has what it `needs`. Raises SheetError."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SheetError(f"{path} is larger than a class can be")
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SheetError(f"{path} is not UTF-8: take the file as it was exported, or save it as CSV UTF-8") from error
    except OSError as error:
        raise SheetError(f"{path} cannot be read: {error.strerror}") from error
    wanted = [need.casefold() for need in needs]

    def fit(delimiter: str) -> tuple[int, int]:
        head = [
            name.strip().strip('"').casefold() for name in text.removeprefix(BOM).partition("\n")[0].split(delimiter)
        ]
        return sum(need in head for need in wanted), len(head)

    delimiter = max(DELIMITERS, key=fit)
    try:
        rows = cells_of(text, delimiter)
    except SheetError as error:
        raise SheetError(f"{path}: {error}") from None
    if not rows:
        raise SheetError(f"{path} is empty: its first line should name the columns")
    return Sheet(text, rows, delimiter)


def cells_of(text: str, delimiter: str) -> tuple[tuple[Cell, ...], ...]:
    """Rows of cells as RFC 4180 has them, with any line ends. Raises SheetError."""
    rows: list[tuple[Cell, ...]] = []
    row: list[Cell] = []
    at = len(BOM) if text.startswith(BOM) else 0
    line = 1
    while at < len(text):
        start = at
        if text[at] == '"':
            end, value = _quoted(text, at, line)
            line += value.count("\n")
        else:
            end = at
            while end < len(text) and text[end] not in (delimiter, "\n", "\r"):
                end += 1
            value = text[at:end]
        row.append(Cell(value, start, end))
        at = end
        if at < len(text) and text[at] == delimiter:
            at += 1
            if at < len(text) and text[at] not in "\r\n":
                continue
            row.append(Cell("", at, at))  # a delimiter at a line's end has an empty cell behind it
        if at < len(text) and text[at] not in "\r\n":
            raise SheetError(f"line {line} has text behind a closing quote: take the file as it was exported")
        if at < len(text):
            at += 2 if text.startswith("\r\n", at) else 1
            line += 1
        if any(cell.end > cell.start for cell in row) or len(row) > 1:
            rows.append(tuple(row))
        row = []
    return tuple(rows)


def _quoted(text: str, at: int, line: int) -> tuple[int, str]:
    """The end and the value of a quoted cell that begins at `at`."""
    pieces, start = [], at + 1
    while True:
        quote = text.find('"', start)
        if quote < 0:
            raise SheetError(f"line {line} opens a quote that is never closed: take the file as it was exported")
        pieces.append(text[start:quote])
        if not text.startswith('""', quote):
            return quote + 1, '"'.join(pieces)
        start = quote + 2


# ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def written(value: str, delimiter: str = ",", always: bool = False) -> str:
    """A value as it stands in a CSV file."""
    if always or value != value.strip() or any(sign in value for sign in (delimiter, '"', "\n", "\r")):
        return '"' + value.replace('"', '""') + '"'
    return value


def sheet_text(rows: Iterable[Sequence[str]], end: str = "\n") -> str:
    """A whole CSV file with commas."""
    return "".join(",".join(written(value) for value in row) + end for row in rows)


def harmless(value: str) -> str:
    """A text that a spreadsheet takes for a text: an apostrophe before what would begin a formula.

    Behind a semicolon too: where commas divide whole numbers from tenths, a spreadsheet cuts a line there.
    For names and texts, never for what another system looks a student up by.
    """
    shown = _FIRST_IN_A_CELL.sub(r"\1'\2", value)
    return f"'{shown}" if shown.startswith(("\t", "\r", "\n")) else shown


def looks_like_formula(value: str) -> bool:
    """Whether a spreadsheet would take a text for a formula."""
    return harmless(value) != value


def points(number: float) -> str:
    """Points as gradebooks read them in every language: a dot, at most two places, no needless zeros."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
