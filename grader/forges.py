"""What a students' repository needs for feedback on pull requests: workflows, and the grader as a wheel.

The wheel holds `nanolm` and `grader`, no answer and no mistake, so it may lie in a repository that students see. It is
used from the default branch only.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

from grader.release import TEMPLATES, package_name, students_lock
from nanolm.course import exercise_files, is_course

PACKAGES = ("nanolm", "grader")
INSTRUCTORS_ONLY = ("solutions", "mistakes", "source", "selftests")


class ForgeError(RuntimeError):
    """The repository cannot be set up; the text is one sentence for the instructor."""


def set_up_github(root: Path, target: Path) -> list[str]:
    """Write the workflows and the grader into a students' repository; returns the names of the files written."""
    made = {
        f".github/workflows/{name}.yml": _filled(f".github/workflows/{name}.yml.in") for name in ("hand-in", "feedback")
    }
    return _write(root, target, made, ".github/grader")


def set_up_gitlab(root: Path, target: Path) -> list[str]:
    """The same for a project on GitLab: one pipeline, and the grader."""
    return _write(root, target, {".gitlab-ci.yml": _filled("gitlab-ci.yml.in")}, ".gitlab/grader")


def _filled(template: str) -> str:
    return (TEMPLATES / template).read_text(encoding="utf-8").replace("@FILES@", " ".join(exercise_files()))


def _write(root: Path, target: Path, made: dict[str, str], grader: str) -> list[str]:
    if not is_course(target):
        raise ForgeError(f"{target} is no students' copy: write one with `nanolm release --student DIR` first")
    if found := [name for name in INSTRUCTORS_ONLY if (target / name).exists()]:
        raise ForgeError(f"{target} holds {found[0]}/: it is the instructors' repository, not the students'")
    folder = target / grader
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.whl"):  # pip would be asked to install both
        old.unlink()
    wheel = build_wheel(root, folder)
    made[f"{grader}/requirements.lock"] = grader_lock(root)
    for name, text in made.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return sorted([*made, f"{grader}/{wheel.name}"])


def grader_lock(root: Path) -> str:
    """The pins of the lock that grading needs, and no others."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    return students_lock(lock, [package_name(line) for line in project["dependencies"] if _for_linux(line)])


def _for_linux(requirement: str) -> bool:
    return not re.search(r";.*sys_platform\s*==\s*['\"](?!linux)", requirement)


def build_wheel(root: Path, folder: Path) -> Path:
    """Build the wheel of `nanolm` and `grader` from a copy that holds nothing else. Raises ForgeError."""
    with tempfile.TemporaryDirectory(prefix="nanolm-wheel-") as scratch:
        stage, out = Path(scratch) / "stage", Path(scratch) / "out"
        stage.mkdir()
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copyfile(root / name, stage / name)
        for name in PACKAGES:
            shutil.copytree(root / name, stage / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
        done = subprocess.run(
            [*command, "--wheel-dir", str(out), str(stage)], cwd=scratch, capture_output=True, encoding="utf-8",
            errors="replace", check=False,
        )  # fmt: skip
        wheels = sorted(out.glob("*.whl")) if out.is_dir() else []
        if done.returncode != 0 or len(wheels) != 1:
            raise ForgeError("the wheel could not be built:\n" + "\n".join(done.stderr.splitlines()[-10:]))
        if found := strangers(wheels[0]):
            raise ForgeError(f"the wheel would hold {found[0]}, which students must not get")
        return Path(shutil.copy(wheels[0], folder))


def strangers(wheel: Path) -> list[str]:
    """Members of a wheel that are neither of the two packages nor about them."""
    with zipfile.ZipFile(wheel) as archive:
        tops = {name: name.partition("/")[0] for name in archive.namelist()}
    return [name for name, top in tops.items() if top not in PACKAGES and not top.endswith(".dist-info")]


def command(arguments: list[str]) -> int:
    """`nanolm pull-requests --into DIR [--gitlab]`."""
    import argparse

    from grader.house import HouseError, find_root

    parser = argparse.ArgumentParser(
        prog="nanolm pull-requests",
        description="Give a students' repository feedback on pull requests: workflows, and the grader as a wheel.",
    )
    parser.add_argument("--into", type=Path, required=True, metavar="DIR", help="the students' repository")
    parser.add_argument("--gitlab", action="store_true", help="write a pipeline for GitLab instead")
    parser.add_argument("--course", type=Path, metavar="DIR", help="the course folder (default: found from here)")
    options = parser.parse_args(arguments)
    try:
        written = (set_up_gitlab if options.gitlab else set_up_github)(find_root(options.course), options.into)
    except HouseError as error:
        print(f"nanolm: {error}", file=sys.stderr)
        return 4
    except (ForgeError, OSError) as error:
        print(f"nanolm pull-requests: {error}", file=sys.stderr)
        return 1
    print(f"Written to {options.into}:")
    for name in written:
        print(f"  {name}")
    print("Commit them to the default branch. docs/pull-requests.md says what to set in the repository's settings.")
    return 0
