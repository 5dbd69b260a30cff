"""Files that are there and cannot be what they should be: encodings, syntax, truncation, text that is not Python."""

from __future__ import annotations

import json

from selftests.broken import (
    MODULES,
    RIGHT,
    Kind,
    beside,
    costs_its_file,
    healthy,
    left_out,
    ungradable,
)
from selftests.running_grade import STUBS

SWIGLU = MODULES.index("class SwiGLU(")
BODY = "        projected: Tensor = "
UMLAUT = f"# Übung 6, Größe\n{MODULES}".replace("×", "x")
NOTEBOOK = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def first(code: str) -> str:
    """Right answers with other code at the top of the file."""
    head, torch, rest = MODULES.partition("import torch\n")
    return f"{head}{code}\n{torch}{rest}"


def inside(code: str) -> str:
    """Right answers with other code before the body of SwiGLU.forward."""
    assert MODULES.count(BODY) == 1
    return MODULES.replace(BODY, "".join(f"        {line}\n" for line in code.splitlines()) + BODY)


ENCODINGS = [
    costs_its_file("latin-1", beside(UMLAUT.encode("latin-1", "replace")), "line 1 looks like Latin-1"),
    costs_its_file("cp1251", beside(f"# норма слоя\n{MODULES}".encode("cp1251", "replace")), "Cyrillic code page"),
    costs_its_file("utf-16", beside(MODULES.encode("utf-16")), "looks like UTF-16"),
    costs_its_file("utf-16-without-a-mark", beside(MODULES.encode("utf-16-be")), "looks like UTF-16"),
    costs_its_file("utf-32", beside(MODULES.encode("utf-32")), "looks like UTF-32"),
    costs_its_file("mixed-encodings", beside(MODULES.encode() + "# Größe".encode("latin-1")), "looks like Latin-1"),
    costs_its_file("nul", beside(MODULES.encode() + b"x = '\0'\n"), "has a NUL byte in line"),
    costs_its_file("zeros-after-a-power-cut", beside(b"\0" * 5000), "has a NUL byte in line 1"),
    healthy("bom", beside(b"\xef\xbb\xbf" + MODULES.encode()), "began with a UTF-8 byte-order mark"),
    healthy("crlf", beside(MODULES.replace("\n", "\r\n"))),
    healthy("cr", beside(MODULES.replace("\n", "\r"))),
    healthy("mixed-line-ends", beside(MODULES.replace("\n", "\r\n", 40).replace("\r\n", "\r", 9))),
    healthy("lying-coding-line", beside(f"# -*- coding: latin-1 -*-\n{UMLAUT}"), "declares the encoding latin-1"),
    healthy("no-newline-at-the-end", beside(MODULES.rstrip())),
    healthy("form-feeds", beside(MODULES.replace("\n\n\nclass ", "\n\f\n\nclass "))),
    ungradable("all-utf-16", {file: text.encode("utf-16") for file, text in RIGHT.items()},
               "elementwise.py is not UTF-8"),
]  # fmt: skip

SYNTAX = [
    costs_its_file(f"syntax-{name}", beside(text), says)
    for name, text, says in (
        ("no-colon", MODULES.replace("class SwiGLU(nn.Module):", "class SwiGLU(nn.Module)"),
         "SyntaxError: expected ':'"),
        ("open-bracket", MODULES + "\nx = (1,\n", "SyntaxError: '(' was never closed"),
        ("open-docstring", MODULES + '\nx = """never\n', "SyntaxError: unterminated triple-quoted string"),
        ("open-string", first("x = 'never"), "SyntaxError: unterminated string literal"),
        ("indent", first("    x = 1"), "IndentationError: unexpected indent"),
        ("no-indent", first("def f():\nx = 1"), "IndentationError: expected an indented block"),
        ("dedent", first("if 1:\n        x = 1\n    y = 2"), "IndentationError: unindent does not match"),
        ("tabs", first("if 1:\n\tx = 1\n        y = 2"), "TabError: inconsistent use of tabs"),
        ("python-2", first("print 'x'"), "SyntaxError: Missing parentheses"),
        ("return", MODULES + "\nreturn 1\n", "SyntaxError: 'return' outside function"),
        ("await", MODULES + "\nawait f()\n", "SyntaxError: 'await' outside function"),
        ("merge-conflict", first("<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> mine"), "SyntaxError: invalid syntax"),
        ("markdown", f"```python\n{MODULES}```\n", "SyntaxError: invalid syntax"),
        ("chat", f"Sure! Here is the code:\n\n{MODULES}", "SyntaxError: invalid syntax"),
        ("smart-quotes", first("x = “one”"), "SyntaxError: invalid character '“'"),
        ("hard-blank", first("x =\u00a01"), "SyntaxError: invalid non-printable character U+00A0"),
        ("zero-width", first("x\u200b = 1"), "SyntaxError: invalid non-printable character U+200B"),
        ("mark-in-the-middle", first("\ufeffx = 1"), "SyntaxError: invalid non-printable character U+FEFF"),
        ("reversed-text", first("x = \u202e1"), "SyntaxError: invalid non-printable character U+202E"),
        ("magic", first("%matplotlib inline"), "SyntaxError: invalid syntax"),
        ("shell", first("!pip install torch"), "SyntaxError: invalid syntax"),
        ("prompt", first(">>> x = 1"), "SyntaxError: invalid syntax"),
        ("braces", "from __future__ import braces\n" + MODULES, "SyntaxError: not a chance"),
        ("late-future", MODULES + "\nfrom __future__ import annotations\n",
         "SyntaxError: from __future__ imports must"),
        ("same-argument", first("def f(a, a): ..."), "SyntaxError: duplicate argument 'a'"),
        ("backslash-at-the-end", MODULES + "\nx = 1 + \\", "SyntaxError: unexpected EOF"),
        ("keyword", first("lambda = 1"), "SyntaxError: "),
        ("deep-brackets", first(f"x = {'(' * 300}1{')' * 300}"), "SyntaxError: too many nested parentheses"),
        ("deep-blocks", first("\n".join(" " * n + "if 1:" for n in range(101))), "IndentationError: "),
        ("deep-minus", first(f"x = {'-' * 100_000}1"), "more memory was asked for"),
        ("deep-chain", first(f"x = torch{'.x' * 60_000}"), "RecursionError"),
        ("long-number", first(f"x = {'9' * 5000}"), "SyntaxError: Exceeds the limit"),
    )
]  # fmt: skip

CUT = [
    costs_its_file("empty-file", beside(""), "SwiGLU"),
    costs_its_file("blank-file", beside(" \n\t\n"), "SwiGLU"),
    costs_its_file("only-a-comment", beside("# I could not do it, sorry"), "SwiGLU"),
    costs_its_file("cut-before", beside(MODULES[:SWIGLU]), "SwiGLU"),
    costs_its_file("cut-in-a-letter", beside(MODULES[:SWIGLU].encode() + "é".encode()[:1]), "is not UTF-8"),
    costs_its_file("cut-in-a-line", beside(MODULES[: SWIGLU + len("class SwiGLU(")]),
                   "SyntaxError: '(' was never closed"),
    costs_its_file("notebook-renamed", beside(NOTEBOOK), "modules.py is a notebook under another name"),
    costs_its_file("zip-renamed", beside(b"PK\x03\x04\x14\x00\x00\x00\x08\x00" + bytes(range(256))), "modules.py"),
    costs_its_file("web-page", beside("<!DOCTYPE html>\n<html><script>alert(1)</script>"),
                   "SyntaxError: invalid syntax"),
    costs_its_file("large-file", beside(MODULES + "#" * (256 << 10)), "modules.py is larger than 256 KiB"),
    costs_its_file("huge-file", beside(b"x" * (24 << 20)), "modules.py is larger than 256 KiB"),
    costs_its_file("one-long-line", beside(f"x = {'1,' * 100_000}"), "SwiGLU"),
]  # fmt: skip

BEHAVIOUR = [
    costs_its_file("missing-import", beside(first("import tensorflow_of_mine")),
                   "exercises/modules.py line 15 raised ModuleNotFoundError: No module named 'tensorflow_of_mine'"),
    costs_its_file("own-helper", {**RIGHT, "modules.py": first("from helpers import f"), "helpers.py": "f = 1\n"},
                   "No module named 'helpers'"),
    costs_its_file("asks", beside(first("n = input('how many? ')")), "EOFError"),
    costs_its_file("leaves", beside(first("raise SystemExit(0)")), "exercises/modules.py line 15 raised SystemExit: 0"),
    costs_its_file("aborts", beside(first("import os\nos.abort()")), "the process ended with signal"),
    healthy("prints-5-mb", beside(first("import sys\nsys.stderr.write('x' * 5_000_000)\nprint('y' * 5_000_000)"))),
    healthy("prints-in-every-call", beside(inside("print('z' * 100_000)"))),
    costs_its_file("raises-5-mb", beside(inside("raise ValueError('\\x1b[31m' + 'x' * 5_000_000)")),
                   "ValueError: \\x1b[31mx", 1.5),
    left_out("stub", beside(STUBS["modules.py"])),
]  # fmt: skip

KINDS: list[Kind] = [*ENCODINGS, *SYNTAX, *CUT, *BEHAVIOUR]
