"""The students' copy: stubs, tests, the course kit and the pages, with project files of its own and no answer in it.

What is copied is a short list of folders and files, never "everything but". What then stands in the copy is read again,
line by line, before it gets its name: see `grader.leaks` for what counts as a leak.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from grader.leaks import ReleaseError, Secrets
from grader.stubs import StubError
from grader.sync import problems
from nanolm.cli import STUDENTS
from nanolm.course import EXERCISES

FOLDERS = ("exercises", "tests", "nanolm", "docs/exercises", "release")
"""Folders that students get; `release/` holds the notebooks and may be absent. `source/` holds answers: never."""

FILES = ("conftest.py", "LICENSE", "docs/notation.md", "docs/reading-a-block.md")

TEMPLATES = Path(__file__).parent / "students"
PROJECT_FILES = {
    "pyproject.toml": "pyproject.toml.in",
    "README.md": "README.md.in",
    ".gitignore": "gitignore.in",
    ".github/workflows/check.yml": ".github/workflows/check.yml.in",
}
"""Name in the copy → its template. Templates end in `.in`, so that no tool takes one for a project file of ours."""

GRADERS_ONLY = ("msgspec", "pyseccomp")
"""Dependencies that the grader needs and a student does not."""

CACHES = re.compile(r"\.|__pycache__$|.*\.(pyc|egg-info)$")
"""Names that are left out where there is no git to say what belongs to the course."""


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
        "NOTEBOOKS": " A notebook from `release/` may stand for the file of its exercise." if notebooks else "",
        "IN_NOTEBOOKS": (TEMPLATES / "notebooks.md.in").read_text(encoding="utf-8") if notebooks else "",
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
