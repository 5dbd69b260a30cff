"""Makes text that a student controls safe to print.

A file name, an exception message or a repr can hold terminal escapes, bidirectional overrides that reorder the line,
line separators that forge a row of a table, lone surrogates that no encoder accepts, or a line that a workflow's log
takes for a command. All such text goes through `printable`.
"""

import re
import unicodedata
from collections.abc import Iterable

_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that have no ink: a name of them looks like no name."""
_COMMAND = re.compile(
    r":(?=:(?:add-mask|add-matcher|add-path|debug|echo|endgroup|error|group|notice|remove-matcher|save-state|set-env"
    r"|set-output|stop-commands|warning)\b)|#(?=#(?:\[|vso\[))",
    re.IGNORECASE,
)
"""What begins a command in the log of a GitHub or Azure workflow. A terminal's wrapping can put any word first in a
line."""


def printable(text: str, limit: int = 200, newlines: bool = False) -> str:
    r"""Returns `text` with what is invisible or steers a terminal written as `\xNN`, `\uNNNN` or `\UNNNNNNNN`.

    The result has at most `limit` characters, escapes included; a longer one ends in `…`, and no escape is cut in two.
    Line feeds survive only with `newlines=True`, for text that is shown as a block. Backslashes are left alone, so that
    a traceback stays readable: the result is safe, not reversible. Raises ValueError on a limit below 1.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    pieces: list[str] = []
    length = 0
    for char in _COMMAND.sub(_disarmed, text[: limit + 1]):
        piece = char if newlines and char == "\n" else _visible(char)
        pieces.append(piece)
        length += len(piece)
        if length > limit:
            while length > limit - 1:
                length -= len(pieces.pop())
            pieces.append("…")
            break
    return "".join(pieces)


def listed(names: Iterable[str], most: int = 8, limit: int = 60) -> str:
    """Names in a row, each escaped and cut to `limit` characters; after `most` of them only their number is told."""
    shown = [printable(name, limit) for name in names]
    more = f" … and {len(shown) - most} more" if len(shown) > most else ""
    return f"{', '.join(shown[:most])}{more}" or "none"


def _disarmed(command: re.Match[str]) -> str:
    return f"\\x{ord(command[0]):02x}"


def _visible(char: str) -> str:
    code = ord(char)
    # Noncharacters are legal in a Python string but not in XML, where reports put this text.
    noncharacter = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    if not noncharacter and unicodedata.category(char) not in _UNSAFE_CATEGORIES and char not in _BLANK_LETTERS:
        return char
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
