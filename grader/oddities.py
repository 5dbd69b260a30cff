"""What in a submission looks odd: noted for whoever reads the grade, never a reason to take a point off.

No exercise needs these things, and each is how an answer can be made that is right for the grader only: report for
another class, tell where it runs, answer from a table. Nothing inside a worker can stop all of that (`docs/attacks.md`,
"What no level stops"), so a person is told where to look. Found by patterns: the grader does not parse what a student
wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

HARMLESS = "No exercise needs it: worth a look, and nothing was taken off for it."
MOST = 5
"""Notes of one kind and file."""
TABLE = 200
"""Numbers with a decimal point: more of them are a table."""

IMPORTS = (
    "signal threading _thread multiprocessing concurrent subprocess socket atexit pickle marshal builtins traceback "
    "weakref asyncio shutil tempfile hmac hashlib"
)
METHODS = (
    "__eq__ __array__ __array_ufunc__ __array_function__ __torch_function__ __torch_dispatch__ __getattr__ __setattr__ "
    "__call__ named_parameters parameters named_buffers state_dict load_state_dict"
)
ODD = {
    what: re.compile(pattern, re.MULTILINE)
    for what, pattern in {
        "looks inside Python's own objects": (
            r"\b__(?:subclasses|closure|code|builtins|globals|getattribute|instancecheck|class)__\b|\bcell_contents\b"
        ),
        "asks where it runs": r"\bos\.environ\b|\bgetenv\b|\bsys\.(?:modules|argv|path|meta_path)\b",
        "imports what no exercise needs": rf"^[ \t]*(?:import|from)[ \t]+(?:{'|'.join(IMPORTS.split())})\b",
        "answers in the place of Python or torch": rf"\bdef[ \t]+(?:{'|'.join(METHODS.split())})\b",
        "puts a name together as it runs": (
            r"""["']\w{1,60}["'][ \t]{0,9}\[[ \t]{0,9}::[ \t]{0,9}-1|attr\([^()\n]{1,99}(?:["'][ \t]{0,9}\+|\.join\()"""
        ),
        "treats some sizes apart": r"\b(?:shape|size)\b[^\n#]{0,40} in [(\[{][ \t]{0,9}\d+[ \t]{0,9},[ \t]{0,9}\d",
    }.items()
}
NUMBER = re.compile(r"\d\.\d")


def odd_notes(files: Mapping[str, str]) -> list[str]:
    """A note for each line of these files that looks odd, and for each table of numbers."""
    return [note for file, text in files.items() for note in _notes(file, text)]


def _notes(file: str, text: str) -> Iterator[str]:
    for what, pattern in ODD.items():
        told: set[int] = set()
        for match in pattern.finditer(text):
            begins = text.rfind("\n", 0, match.start()) + 1
            if begins in told or text.startswith("#", begins + _blanks(text, begins)):
                continue
            if len(told) == MOST:
                yield f"{file} has more lines like that."
                break
            told.add(begins)
            line = text.count("\n", 0, begins) + 1
            yield f"{file} line {line} {what} ({' '.join(match[0].split())[:80]}). {HARMLESS}"
    if (count := len(NUMBER.findall(text))) > TABLE:
        yield f"{file} holds a table of {count} numbers. {HARMLESS}"


def _blanks(text: str, begins: int) -> int:
    """How far a line is indented; 80 columns are enough to see whether it is a comment."""
    start = text[begins : begins + 80]
    return len(start) - len(start.lstrip(" \t"))
