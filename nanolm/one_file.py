"""Texts one after the other as one file: imports from `__future__` may only stand at its top.

Nothing is parsed, so a text that would end a parser is joined like any other: standard library only. No possessive
quantifiers: Python's are wrong before 3.11.5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_FUTURE = re.compile(r"(from[ \t]+__future__[ \t]+import[ \t]+(?:\([^)]*\)|\\\n|[^\n#;\\])+)[ \t]*(?:;[ \t]*)?")
_BLANK = re.compile(r"(?:[ \t\f]*(?:#[^\n]*)?\n)*")
_DOCSTRING = re.compile(
    r'''[rRuU]?(?:"""(?:[^\\"]|\\.|"(?!""))*"""|\'\'\'(?:[^\\\']|\\.|\'(?!\'\'))*\'\'\''''
    r"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')[ \t]*(?:;[ \t]*)?""",
    re.DOTALL,
)


def one_file(texts: Sequence[str]) -> str:
    """Answers one after the other as one file: imports from `__future__` may only stand at its top."""
    parted = [_without_future(text) for text in texts]
    future = list(dict.fromkeys(line for lines, _ in parted for line in lines))
    bodies = [body.strip("\n") for _, body in parted]
    return "\n\n\n".join([*(["\n".join(future)] if future else []), *bodies]) + "\n"


def _without_future(text: str) -> tuple[list[str], str]:
    """The imports from `__future__` of a text and what is left of it. They stand behind its docstring or nowhere."""
    lines, kept, at, may_be_docstring = [], [], 0, True
    while True:
        blank = _BLANK.match(text, at)
        assert blank is not None
        kept.append(blank[0])
        at = blank.end()
        if may_be_docstring and (docstring := _DOCSTRING.match(text, at)):
            kept.append(docstring[0])
            at = docstring.end()
        elif found := _FUTURE.match(text, at):
            lines.append(found[1].strip())
            at = found.end()
        else:
            return lines, "".join([*kept, text[at:]])
        may_be_docstring = False
