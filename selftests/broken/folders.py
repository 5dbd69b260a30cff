"""Folders: names that are nearly right, places, links, what is no file, closed doors, and too much of everything."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

from selftests.broken import (
    ELEMENTWISE,
    MODULES,
    RIGHT,
    Build,
    Kind,
    and_then,
    costs_its_file,
    healthy,
    left_out,
    ungradable,
)
from selftests.making_submissions import folder
from selftests.running_grade import ROOT, trap

TRAP = trap(Path("/tmp/a-trap-of-a-broken-submission"))
REST = {"elementwise.py": ELEMENTWISE}


def under(place: str, more: dict[str, str] | None = None) -> dict[str, str]:
    return {f"{place}/{file}": text for file, text in RIGHT.items()} | (more or {})


def linked(name: str, target: Path | str) -> Build:
    return lambda path: (path / name).symlink_to(target)


def hard_linked(path: Path) -> None:
    other = folder(path.parent.parent / "elsewhere", {f"{path.name}.py": MODULES}) / f"{path.name}.py"
    (path / "modules.py").hardlink_to(other)


def device(path: Path) -> None:
    os.mknod(path / "modules.py", stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero: a read would never end


def listening(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path)  # a socket's path is limited to about 100 bytes
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("modules.py")
    finally:
        os.chdir(here)


def closed(name: str = "") -> Build:
    return lambda path: (path / name).chmod(0)


def crowded(path: Path) -> None:
    for number in range(10_001):
        (path / f"{number}.txt").touch()


def deep(path: Path) -> None:
    for _ in range(60):
        path = path / "homework"
    folder(path, RIGHT)


NAMES = [
    healthy("near-number", {**REST, "modules (1).py": MODULES}, "modules (1).py was graded as modules.py"),
    healthy("near-case", {**REST, "Modules.py": MODULES}, "Modules.py was graded as modules.py"),
    healthy("near-capitals", {**REST, "MODULES.PY": MODULES}, "MODULES.PY was graded as modules.py"),
    healthy("near-txt", {**REST, "modules.py.txt": MODULES}, "modules.py.txt was graded as modules.py"),
    healthy("near-copy", {"modules.py": MODULES, "elementwise copy.py": ELEMENTWISE}, "was graded as elementwise.py"),
    healthy("near-beside-exact", {**RIGHT, "modules (1).py": "x = ("}, "Not read: modules (1).py."),
    costs_its_file("near-two", {**REST, "modules (1).py": MODULES, "modules (2).py": MODULES},
                   "keep the one that counts"),
    left_out("other-name", {**REST, "my_modules.py": MODULES}, "Not read: my_modules.py."),
    left_out("other-ending", {**REST, "modules.pyc": MODULES}, "Ignored, without effect on grading: modules.pyc."),
    left_out("one-file-is-missing", REST),
    ungradable("misspelt", {"moduls.py": MODULES}, "There is no exercise file and no notebook in it"),
]  # fmt: skip

SELVES = [
    healthy("own-config", {**RIGHT, "config.py": TRAP}, "Your config.py was ignored"),
    healthy("own-attention", {**RIGHT, "attention.py": TRAP}, "Your attention.py was ignored"),
    healthy("own-model", {**RIGHT, "model.py": TRAP}, "Your model.py was ignored"),
    healthy("own-conftest", {**RIGHT, "conftest.py": TRAP, "pytest.ini": "[pytest]\naddopts = --no-such"},
            "conftest.py"),
    healthy("own-pth", {**RIGHT, "modules.pth": f"import os; {TRAP}"}, "modules.pth"),
    healthy("own-sitecustomize", {**RIGHT, "sitecustomize.py": TRAP, "usercustomize.py": TRAP}, "sitecustomize.py"),
    healthy("own-torch", {**RIGHT, "torch.py": TRAP, "torch/__init__.py": TRAP, "__init__.py": TRAP}, "torch.py"),
    healthy("own-package", {**RIGHT, "modules/__init__.py": TRAP}),
    healthy("own-extension", {**RIGHT, "modules.cpython-311-x86_64-linux-gnu.so": b"\x7fELF"},
            "Ignored, without effect"),
    healthy("own-cache", {**RIGHT, "__pycache__/modules.cpython-311.pyc": b"\xa7\r\r\n" + b"\0" * 12 + b"stale"}),
    healthy("own-tests", {**under("exercises"), "tests/test_modules.py": TRAP, "solutions/modules.py": TRAP},
            "exercises/"),
    healthy("own-notebook", {**RIGHT, "week6.ipynb": "{}"}, "week6.ipynb is JSON, but no notebook"),
    healthy("clutter", {**RIGHT, ".DS_Store": b"\0", "__MACOSX/modules.py": TRAP, ".git/HEAD": "x",
            "Thumbs.db": b"\0"}),
]  # fmt: skip

PLACED = [
    healthy("in-exercises", under("exercises"), "Found in exercises/."),
    healthy("in-its-only-folder", under("Homework 6 (final)"), "Found in Homework 6 (final)/."),
    healthy("doubled", under("doubled"), "Found in doubled/."),
    healthy("doubled-exercises", under("doubled-exercises/exercises"), "Found in doubled-exercises/exercises/."),
    healthy("twice", {**RIGHT, "exercises/modules.py": "x = ("}, "exercises/modules.py was not"),
    left_out("scattered", {**REST, "part1/modules.py": MODULES, "part2/notes.txt": "x"}),
    ungradable("deeper", under("a/b/c"), "put your files (modules.py, "),
    ungradable("very-deep", deep, "put your files (modules.py, "),
    ungradable("two-folders", {**under("try1"), **under("try2")}, "there are several folders"),
    ungradable("empty-folder", {}, "There is no exercise file and no notebook in it"),
    ungradable("empty-folders", and_then({}, lambda path: (path / "exercises").mkdir()),
               "There is no exercise file and no notebook in it"),
    ungradable("notebook-only", {"week6.ipynb": "{}"}, "week6.ipynb is JSON, but no notebook"),
    ungradable("only-an-essay", {"essay.pdf": b"%PDF", "essay.docx": b"PK"},
               "There is no exercise file and no notebook in it"),
    ungradable("archive-inside", {"homework.zip": b"PK\x03\x04"}, "only an archive inside: unpack it"),
]  # fmt: skip

LINKS = [
    costs_its_file("link-to-the-course", and_then(REST, linked("modules.py", ROOT / "solutions" / "modules.py")),
                   "symbolic link"),
    costs_its_file("link-to-nothing", and_then(REST, linked("modules.py", "nothing")), "symbolic link"),
    costs_its_file("link-to-itself", and_then(REST, linked("modules.py", "modules.py")), "symbolic link"),
    costs_its_file("link-to-a-secret", and_then(REST, linked("modules.py", "/etc/shadow")), "symbolic link"),
    healthy("link-loop-beside", and_then(RIGHT, linked("exercises", ".")), "exercises/ is a symbolic link"),
    ungradable("linked-exercises", and_then({}, linked("exercises", ROOT / "solutions")),
               "exercises/ is a symbolic link"),
    ungradable("linked-whole", lambda path: path.symlink_to(ROOT / "solutions"), "The submission is a symbolic link"),
    ungradable("linked-nowhere", lambda path: path.symlink_to("/nowhere"), "The submission is a symbolic link"),
    ungradable("linked-loop", lambda path: path.symlink_to(path.name), "The submission is a symbolic link"),
    costs_its_file("hard-link", and_then(REST, hard_linked), "modules.py is a hard link"),
    costs_its_file("fifo", and_then(REST, lambda path: os.mkfifo(path / "modules.py")),
                   "modules.py is not a regular file"),
    costs_its_file("device", and_then(REST, device), "modules.py is not a regular file"),
    costs_its_file("socket", and_then(REST, listening), "modules.py is not a regular file"),
    left_out("folder-named-like-a-file", {**REST, "modules.py/__init__.py": MODULES}, "modules.py is a folder"),
]  # fmt: skip

DOORS = [
    costs_its_file("closed-file", and_then(RIGHT, closed("modules.py")),
                   "modules.py may not be read (permission denied)"),
    ungradable("closed-folder", and_then(RIGHT, closed()), "may not be read (permission denied)"),
    ungradable("closed-exercises", and_then(under("exercises"), closed("exercises")), "exercises/ may not be read"),
]  # fmt: skip

AMOUNTS = [
    healthy("10001-files", and_then(RIGHT, crowded), "holds more than 10000 entries"),
    healthy("2000-folders", and_then(RIGHT, lambda path: [(path / str(n)).mkdir() for n in range(2000)])),
]

KINDS: list[Kind] = [*NAMES, *SELVES, *PLACED, *LINKS, *DOORS, *AMOUNTS]
