"""Turns the bytes of a submitted Python file into the exact text that is graded, or says why they cannot be.

The worker executes this text and nothing else, so what is decided here (UTF-8, no byte-order mark, line feeds only)
holds for every later step, and line numbers agree between the student's editor and our messages.
"""

import codecs
import re
from dataclasses import dataclass

from nanolm.untrusted import printable

_UTF_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),  # before UTF-16: its mark begins with UTF-16's
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_LINE_END = re.compile(rb"\r\n|\r|\n")
_CYRILLIC_RUN = re.compile(rb"[\xa8\xb8\xc0-\xff]{3}")
_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_BLANK_OR_COMMENT = re.compile(r"[ \t\f]*(#.*)?")


class Unreadable(Exception):
    """Something of a submission cannot be read; the message is one sentence to the student that says what to do."""


@dataclass(frozen=True)
class SourceText:
    """The text of one exercise file and what is worth telling about how it was read."""

    text: str
    notes: tuple[str, ...]


def decode_source(data: bytes, shown: str) -> SourceText:
    """Decodes strict UTF-8; `shown` is the file's name, already printable. Raises Unreadable for anything else."""
    notes: list[str] = []
    if data.startswith(codecs.BOM_UTF8):
        data = data.removeprefix(codecs.BOM_UTF8)
        notes.append(f"{shown} began with a UTF-8 byte-order mark, which was removed.")
    for mark, encoding in _UTF_MARKS:
        if data.startswith(mark):
            raise _not_utf8(shown, 1, encoding)
    nul = data.find(0)
    if nul >= 0:
        line = _line_of(data, nul)
        if data.count(0) * 3 >= len(data) and data.strip(b"\0"):
            raise _not_utf8(shown, line, "UTF-16")
        raise Unreadable(
            f"{shown} has a NUL byte in line {line}, so it is not plain text: "
            "save it as UTF-8 text and hand it in again."
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        cyrillic = _CYRILLIC_RUN.search(data, error.start, error.start + 200)
        encoding = "Windows-1251 or another Cyrillic code page" if cyrillic else "Latin-1 or Windows-1252"
        raise _not_utf8(shown, _line_of(data, error.start), encoding) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.lstrip().startswith("{") and '"nbformat"' in text:
        raise Unreadable(f"{shown} is a notebook under another name: give it its name with .ipynb back and hand it in.")
    cookie = _coding_cookie(text)
    if cookie is not None and not cookie.lower().replace("_", "-").startswith(("utf-8", "utf8")):
        notes.append(f"{shown} declares the encoding {printable(cookie, 40)}; that is ignored, it was read as UTF-8.")
    return SourceText(text, tuple(notes))


def _not_utf8(shown: str, line: int, encoding: str) -> Unreadable:
    return Unreadable(
        f"{shown} is not UTF-8 (line {line} looks like {encoding}): save it as UTF-8 and hand it in again."
    )


def _line_of(data: bytes, position: int) -> int:
    return len(_LINE_END.findall(data, 0, position)) + 1


def _coding_cookie(text: str) -> str | None:
    """The encoding that PEP 263 would find: in line 1, or in line 2 when line 1 is blank or a comment."""
    for line in text.split("\n", 2)[:2]:
        found = _COOKIE.match(line)
        if found:
            return found[1]
        if not _BLANK_OR_COMMENT.fullmatch(line):
            return None
    return None
