"""The GPU job as one file, for a machine that has PyTorch and NumPy and on which nothing can be installed.

The file is a zip that Python runs (`python job.pyz --json out.json`): the course's tests, `nanolm/`, `grader/`, what
was handed in as checked texts, and the pure-Python packages that the job imports. Two packages with compiled parts have
stand-ins: `hypothesis`, whose tests are then `not_run_here`, and `safetensors`, of which the diagnosis reads one file.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

import grader
import nanolm
from grader.job import Job
from nanolm.course import GIVEN_FILES

CARRIED = ("pytest", "pluggy", "iniconfig", "packaging", "Pygments", "einops", "jaxtyping", "wadler_lindig")
"""Distributions without compiled parts: pytest with what it needs, and what a submission may import."""

LEXERS = frozenset({"__init__.py", "_mapping.py", "python.py", "diff.py"})
"""Of Pygments' hundreds of languages pytest asks for two."""

STAND_INS = Path(__file__).parent / "stand_ins"


class BundleError(RuntimeError):
    """A bundle cannot be made; the text says why."""


def write_bundle(root: Path, jobs: Sequence[Job], target: Path) -> int:
    """Write the job on these submissions to `target`, whole or not at all; returns its size. Raises BundleError."""
    if target.is_dir() or not target.resolve().parent.is_dir():
        raise BundleError(f"{str(target)!r} is a folder, or lies in none: name a file such as gpu-job.pyz")
    part = target.with_name(f".{target.name}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as bundle:
            for name, content in files(root, jobs):
                bundle.writestr(name, content)
        part.replace(target)
    except OSError as error:
        raise BundleError(f"{str(target)!r} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return target.stat().st_size


def files(root: Path, jobs: Sequence[Job]) -> Iterator[tuple[str, bytes]]:
    """Names and contents of all that a bundle holds."""
    yield "__main__.py", (STAND_INS / "start.py.in").read_bytes()
    yield "jobs.json", json.dumps([_job(job) for job in jobs]).encode()
    for package in (nanolm, grader):
        folder = Path(package.__path__[0])
        for path in _sources(folder, (".py", ".toml", ".safetensors", ".in")):
            yield f"carried/{package.__name__}/{path.relative_to(folder).as_posix()}", path.read_bytes()
    for name in ("tests", "exercises"):
        for path in _sources(root / name, (".py",)):
            if name == "tests" or path.name in (*GIVEN_FILES, "__init__.py"):
                yield f"course/{name}/{path.relative_to(root / name).as_posix()}", path.read_bytes()
    for stand_in in ("hypothesis", "safetensors"):
        yield f"stand_ins/{stand_in}.py", (STAND_INS / f"{stand_in}.py.in").read_bytes()
    for distribution in CARRIED:
        yield from _distribution(distribution)


def _job(job: Job) -> dict[str, object]:
    kept = ("name", "texts", "problems", "notes", "ungradable", "exercises", "digest")
    return {name: value for name, value in asdict(job).items() if name in kept}


def _sources(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in suffixes and path.is_file() and "__pycache__" not in path.parts:
            yield path


def _distribution(name: str) -> Iterator[tuple[str, bytes]]:
    """A distribution's own files, its METADATA among them, since some packages ask for their version."""
    try:
        found = metadata.files(name) or []
    except metadata.PackageNotFoundError:
        raise BundleError(f"{name} is not installed here, so it cannot be carried: `make setup` installs it") from None
    for path in found:
        parts = path.parts
        if path.suffix in (".so", ".pyd"):
            raise BundleError(f"{name} has a compiled part ({path.name}), which another machine may not run")
        is_lexer = "lexers" in parts and parts[0] == "pygments"
        wanted = path.suffix in (".py", ".typed") or path.name in ("METADATA", "entry_points.txt")
        if ".." in parts or not wanted or (is_lexer and path.name not in LEXERS):
            continue
        yield f"carried/{path.as_posix()}", Path(str(path.locate())).read_bytes()
