"""The smoke test of the students' copy: what a student does with it on the first evening."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

from grader.leaks import ReleaseError


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
