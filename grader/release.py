"""The students' copy: stubs, tests and the course kit, with project files of its own and no answer in it.

What is copied is a short list of folders and files, never "everything but". What then stands in the copy is read again,
line by line, before it gets its name: see `Secrets` for what counts as a leak. The smoke test does what a student
does on the first evening.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from grader.stubs import MARKER_LIKE, Region, StubError, split
from grader.sync import problems
from nanolm.cli import STUDENTS
from nanolm.course import EXERCISES

FOLDERS = ("exercises", "tests", "nanolm", "release")
"""Folders that students get; `release/` holds the notebooks and may be absent."""

FILES = ("conftest.py", "LICENSE")

TEMPLATES = Path(__file__).parent / "students"
PROJECT_FILES = {
    "pyproject.toml": "pyproject.toml.in",
    "README.md": "README.md.in",
    ".gitignore": "gitignore.in",
    ".github/workflows/check.yml": ".github/workflows/check.yml.in",
}
"""Name in the copy → its template. Templates end in `.in`, so that no tool takes one for a project file of ours."""

GRADERS_ONLY = ("msgspec", "rich")
"""Dependencies that the grader needs and a student does not."""

CACHES = re.compile(r"\.|__pycache__$|.*\.(pyc|egg-info)$")
"""Names that are left out where there is no git to say what belongs to the course."""

BINARY = (".safetensors", ".png")
"""The only files of the copy that need not be text: nobody can read a line of code in them."""

WHOLE_LINE, ANYWHERE = 15, 25
RUN_LINES, RUN_LENGTH = 3, 60


class ReleaseError(RuntimeError):
    """The students' copy cannot be written, or does not work; the text is one sentence for the instructor."""


def write_students_copy(root: Path, target: Path) -> list[str]:
    """Write the students' copy to a new or empty folder; returns the names of its files, relative to it.

    It is made beside the target and renamed at the end: after an error or an interruption there is no copy, not half a
    one. Raises ReleaseError where exercises/ is not what solutions/ makes, where the target holds something, and where
    a line of an answer would go out.
    """
    root, target = root.resolve(), target.resolve()
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ReleaseError(f"{target} is not an empty folder: name a new or an empty one")
    if not target.parent.is_dir():
        raise ReleaseError(f"there is no folder {target.parent} to put {target.name} into")
    try:
        if found := problems(root):
            raise ReleaseError(f"nothing was written, because {found[0]}")
        secrets = Secrets(root)
        names = course_files(root)
        made = project_files(root, notebooks=any(name.startswith("release/") for name in names))
    except (StubError, OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise ReleaseError(f"{root} is not a complete course: {error}") from error
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        copy = scratch / target.name
        for name in names:
            _place(copy / name).write_bytes(_source(root, name).read_bytes())
        for name, text in made.items():
            _place(copy / name).write_text(text, encoding="utf-8", newline="\n")
        written = sorted([*names, *made])
        for name in written:
            if leak := secrets.leak(name, (copy / name).read_bytes()):
                raise ReleaseError(f"nothing was written, because {leak}")
        if target.exists():
            target.rmdir()
        copy.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return written


def course_files(root: Path) -> list[str]:
    """Files of the course that students get: what git tracks of them, or all but caches where there is no git."""
    wanted = [name for name in (*FOLDERS, *FILES) if (root / name).exists()]
    if missing := {*FOLDERS, *FILES} - {"release", *wanted}:
        raise ReleaseError(f"{root} lacks {sorted(missing)[0]}, which students need")
    if not (root / ".git").exists():
        return sorted(path.relative_to(root).as_posix() for name in wanted for path in _walk(root / name))
    command = ["git", "-C", str(root), "ls-files", "-z", "--", *wanted]
    try:
        listed = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    except FileNotFoundError:
        raise ReleaseError("git is needed to tell the course's files from what else lies there") from None
    except subprocess.CalledProcessError as error:
        raise ReleaseError(f"git could not list the course's files: {error.stderr.strip()}") from error
    return sorted(name for name in listed.split("\0") if name)


def _walk(path: Path) -> Iterator[Path]:
    if path.is_dir() and not path.is_symlink():
        for entry in path.iterdir():
            if not CACHES.match(entry.name):
                yield from _walk(entry)
    else:
        yield path


def _source(root: Path, name: str) -> Path:
    path = root / name
    if not path.is_file() or path.resolve() != path:
        raise ReleaseError(f"{name} is missing or a link: students get plain files of the course only")
    return path


def _place(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


# ── Project files ────────────────────────────────────────────────────────────────────────────────────────────────────


def project_files(root: Path, *, notebooks: bool = False) -> dict[str, str]:
    """Name and text of the files that only the students' copy has."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    ours = tomllib.loads(text)
    project, built, group = ours["project"], ours["build-system"], "nanolm.commands"
    dependencies = [line for line in project["dependencies"] if package_name(line) not in GRADERS_ONLY]
    values = {
        "BUILD_REQUIRES": _toml(built["requires"]),
        "BUILD_BACKEND": _toml(built["build-backend"]),
        "VERSION": _toml(project["version"]),
        "PYTHON": _toml(project["requires-python"]),
        "DEPENDENCIES": "\n".join(f"    {_toml(line)}," for line in dependencies),
        "COMMANDS": "\n".join(f"{name} = {_toml(project['entry-points'][group][name])}" for name in STUDENTS),
        "PACKAGE_DATA": _toml(ours["tool"]["setuptools"]["package-data"]["nanolm"]),
        "PYTEST": _table(text, "tool.pytest.ini_options"),
        "EXERCISES": "\n".join(
            f"| {each.id} | `exercises/{each.file}` | {each.points:g} | {each.section} |" for each in EXERCISES.values()
        ),
        "FIRST_RUN": first_run(),
        "NOTEBOOKS": " A notebook from `release/` may stand for the file of its exercises." if notebooks else "",
    }
    made = {name: _fill(template, values) for name, template in PROJECT_FILES.items()}
    if tomllib.loads(made["pyproject.toml"])["tool"]["pytest"] != ours["tool"]["pytest"]:
        raise ReleaseError("the copy's pytest settings would differ from the course's own")
    lock = root / "requirements.lock"
    if not lock.is_file():
        raise ReleaseError(f"{lock} is missing: students install the versions that it pins")
    made[lock.name] = students_lock(lock.read_text(encoding="utf-8"), [package_name(line) for line in dependencies])
    return made


def _fill(template: str, values: dict[str, str]) -> str:
    """A template with its `@NAME@` places filled; braces and dollar signs mean something in the files themselves."""
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    return re.sub(r"@([A-Z_]+)@", lambda match: values[match[1]], text)


def _toml(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _table(text: str, name: str) -> str:
    """One table of a TOML file as it is written, comments included."""
    match = re.search(rf"^\[{re.escape(name)}\]\n.*?(?=^\[[A-Za-z\[]|\Z)", text, re.MULTILINE | re.DOTALL)
    if match is None:
        raise ReleaseError(f"pyproject.toml has no table [{name}]")
    return match[0].strip()


def first_run() -> str:
    """The scoreboard of an untouched copy, as `pytest` prints it."""
    from nanolm.protocol import Outcome
    from nanolm.scoreboard import lines
    from nanolm.verdict import Verdict

    untouched = [
        Verdict(each.id, each.id, Outcome.NOT_ATTEMPTED, score=0.0, max_score=each.points)
        for each in EXERCISES.values()
    ]
    return "\n".join(line.rstrip() for line, _ in lines(untouched, {}))


def package_name(requirement: str) -> str:
    """The normalised name at the start of a requirement."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else ""


def students_lock(text: str, direct: list[str]) -> str:
    """The pins of a lock that students need: their direct dependencies and whatever those require, on any platform.

    What requires what is asked of the packages installed here, so all direct ones must be; markers other than extras
    are ignored, so that a lock made for several platforms keeps its lines for the others.
    """
    needed: set[str] = set()
    waiting = list(direct)
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        try:
            requirements = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            if name in direct:
                raise ReleaseError(f"{name} is not installed here, so its own requirements are not known") from None
            continue
        waiting += [package_name(line) for line in requirements if not re.search(r";.*\bextra\b", line)]
    kept, pinned, keeping = ["# Exact versions of what the exercises need."], set(), False
    for line in text.splitlines():
        if line[:1].isspace():  # hashes and comments that belong to the pin above
            kept += [line] if keeping else []
            continue
        keeping = "==" in line and package_name(line) in needed
        if keeping:
            kept.append(line)
            pinned.add(package_name(line))
    if missing := set(direct) - pinned:
        raise ReleaseError(f"requirements.lock does not pin {sorted(missing)[0]}, which students need")
    return "\n".join(kept) + "\n"


# ── Proof ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Secrets:
    """What must not stand in the students' copy, and the search for it.

    Four things are leaks; blank space is normalised, and of a notebook every string is read.

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
        if data.strip() in self.bank_files:
            return f"{name} is {self.bank_files[data.strip()]}"
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return None if name.endswith(BINARY) else f"{name} is not text, so nobody can say what is in it"
        lines = _lines_of(name, text)
        for number, line in enumerate(lines, 1):
            if MARKER_LIKE.search(line):
                return f"{name} line {number} looks like a solution marker: {line.strip()[:80]!r}"
        plain = [_plain(line) for line in lines]
        whole, joined = set(plain), "\n".join(plain)
        for secret, origin in self.region_lines.items():
            if secret in whole or (len(secret) >= ANYWHERE and secret in joined):
                number = next(n for n, line in enumerate(plain, 1) if secret in line)
                return f"{name} line {number} holds a line of a solution in {origin}: {secret!r}"
        code = list(_code(lines))
        for start in range(len(code) - RUN_LINES + 1):
            run = tuple(line for _, line in code[start : start + RUN_LINES])
            if run in self.runs:
                return f"{name} line {code[start][0]} begins with lines of {self.runs[run]}: {run[0]!r}"
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


def _lines_of(name: str, text: str) -> list[str]:
    """The lines that a person sees: a notebook's are inside its JSON strings."""
    if name.endswith(".ipynb"):
        try:
            return "\n".join(_strings(json.loads(text))).splitlines()
        except json.JSONDecodeError as error:
            raise ReleaseError(f"nothing was written, because {name} is not a notebook: {error}") from error
    return text.splitlines()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield "".join(value)  # nbformat splits a cell into lines that keep their ends
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


# ── Smoke test ───────────────────────────────────────────────────────────────────────────────────────────────────────


def smoke_test(target: Path, on_step: Callable[[str], None], *, reuse_packages: bool = False) -> str:
    """Do with the copy what a student does on the first evening; returns a sentence that says what was seen.

    Fresh environment, install from the lock, first run of the tests, `nanolm doctor`. All of it happens in a scratch
    copy, so that the released folder stays as it was written. `reuse_packages` takes the packages of this environment
    instead of installing the lock's: seconds instead of minutes, and no proof of the lock. No answer is written into
    the copy: what answers give is proven by `nanolm verify`. Raises ReleaseError with what went wrong.
    """
    with tempfile.TemporaryDirectory(prefix="nanolm-smoke-") as scratch:
        copy = Path(scratch).resolve() / "exercises of a student"  # with blanks, as in many a home folder
        shutil.copytree(target, copy)
        student = Student(copy, copy / ".venv")
        student.install(on_step, reuse_packages=reuse_packages)
        on_step("running the tests on the stubs")
        status, output = student.run("pytest", NANOLM_IMPL="exercises")
        counts = outcome_counts(output)
        attempted = set(counts) - {"not attempted", "skipped", "warning", "warnings"}
        if status != 1 or attempted or not counts.get("not attempted"):
            raise ReleaseError(
                f"the stubs should leave every test not attempted (exit status {status}):\n{_tail(output)}"
            )
        on_step("asking `nanolm doctor`")
        status, output = student.run("nanolm", "doctor")
        if status != 0:
            raise ReleaseError(f"`nanolm doctor` is not content (exit status {status}):\n{_tail(output)}")
        on_step("asking for an instructors' command")
        status, output = student.run("nanolm", "grade", "exercises")
        if status != 2 or "instructors' command" not in output:
            raise ReleaseError(f"`nanolm grade` should be missing and say so (exit status {status}):\n{_tail(output)}")
    packages = "the packages of this environment" if reuse_packages else "the locked packages in a fresh environment"
    return (
        f"The copy works with {packages}: {counts['not attempted']} tests, all not attempted; `nanolm doctor` is "
        "content; `nanolm grade` says that it is an instructors' command."
    )


class Student:
    """A student's machine: the copy in a folder, an environment, commands that run there."""

    def __init__(self, folder: Path, environment: Path) -> None:
        self.folder = folder
        self.scripts = environment / ("Scripts" if os.name == "nt" else "bin")
        self.environment = environment

    def install(self, on_step: Callable[[str], None], *, reuse_packages: bool = False) -> None:
        """Make the environment and install the copy, as its README says or with the packages that are here already."""
        on_step("making a fresh environment")
        venv.create(self.environment, with_pip=not reuse_packages, symlinks=os.name != "nt")
        what = ["-r", "requirements.lock", "-e", "."]
        if reuse_packages:
            self._borrow_packages()
            what = ["--no-build-isolation", "--no-deps", "-e", "."]
            on_step("installing the copy")
        else:
            on_step("installing the lock and the copy (PyTorch is large: this can take minutes)")
        status, output = self.run("python", "-m", "pip", "install", "--quiet", *what)
        if status != 0:
            raise ReleaseError(f"the copy cannot be installed (exit status {status}):\n{_tail(output)}")

    def _borrow_packages(self) -> None:
        """Link what is installed here, but for this project itself: its commands are the instructors'."""
        asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
        there = Path(self.run("python", "-c", asked)[1].strip())
        for folder in (Path(entry) for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))):
            for entry in folder.iterdir() if folder.is_dir() else ():
                ours = entry.name.startswith(("nanolm", "grader", "__")) or entry.suffix in (".pth", ".egg-link")
                if not ours and not (there / entry.name).exists():
                    (there / entry.name).symlink_to(entry)

    def run(self, program: str, *arguments: str, **variables: str) -> tuple[int, str]:
        """Run one of the environment's programs in the student's folder; returns exit status and all output."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("NANOLM_", "PYTEST_", "PYTHON", "COV_")) and name != "VIRTUAL_ENV"
        }
        path = os.pathsep.join([str(self.scripts), inherited.get("PATH", "")])
        executable = shutil.which(program, path=str(self.scripts))
        if executable is None:  # borrowed packages come without their scripts
            command = [str(self.scripts / Path(sys.executable).name), "-m", program, *arguments]
        else:
            command = [executable, *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=inherited | {"PATH": path} | variables, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
        return done.returncode, done.stdout


def outcome_counts(output: str) -> dict[str, int]:
    """What pytest's last line counts, by outcome."""
    last = [line for line in output.splitlines() if re.search(r"\d+ .* in \d", line)][-1:]
    return {kind: int(count) for line in last for count, kind in re.findall(r"(\d+) ([a-z ]+?)(?=,| in )", line)}


def _tail(output: str) -> str:
    return "\n".join(output.rstrip().splitlines()[-20:])
