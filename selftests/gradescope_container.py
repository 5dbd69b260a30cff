"""Gradescope's container on this machine: a clean root with its paths, and no network, in a bubblewrap.

What is borrowed from here is read-only: system libraries, the base interpreter, the installed packages but our own.
Namespaces cannot be made inside, as under Docker's default profile.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.sandbox.bubblewrap import find

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache", "/etc/passwd")
OURS = ("nanolm", "grader", "__editable__", "__pycache__")


@dataclass(frozen=True)
class Ran:
    """What `run_autograder` left: its status, what instructors see, and the parsed `results.json`."""

    status: int
    output: str
    results: dict[str, Any]


class Container:
    """The folder that is `/autograder` inside."""

    def __init__(self, folder: Path, archive: Path) -> None:
        self.home = folder / "autograder"
        for name in ("source", "submission", "results"):
            (self.home / name).mkdir(parents=True)
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(self.home / "source")
        shutil.copyfile(self.home / "source" / "run_autograder", self.home / "run_autograder")
        venv.create(self.home / "environment", with_pip=False, symlinks=True)

    def _packages(self) -> list[str]:
        """What is installed here as the environment's own, as an image of one's own would bring it along.

        Mounted, not linked: a worker may read the environment and nothing that a link leads to.
        """
        mounts: list[str] = []
        for there in (self.home / "environment" / "lib").glob("python*/site-packages"):
            inside = Path("/autograder") / there.relative_to(self.home)
            for entry in sorted(Path(sysconfig.get_path("purelib")).iterdir()):
                if not entry.name.startswith(OURS) and entry.suffix not in (".pth", ".egg-link"):
                    mounts += ["--ro-bind", str(entry), str(inside / entry.name)]
        return mounts

    def run(self, script: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a shell script of the container in it."""
        command = [str(find()), "--unshare-all", "--unshare-user", "--disable-userns", "--uid", "0", "--gid", "0"]
        command += ["--die-with-parent", "--tmpfs", "/tmp"]  # first, since what is borrowed may lie there
        for path in [*map(Path, SYSTEM), Path(sys.base_prefix)]:
            if path.is_symlink():
                command += ["--symlink", os.readlink(path), str(path)]
            elif path.exists():
                command += ["--ro-bind", str(path), str(path)]
        command += [
            "--ro-bind-try", "/sys/devices/system/cpu", "/sys/devices/system/cpu", "--proc", "/proc", "--dev", "/dev",
            "--bind", str(self.home), "/autograder", *self._packages(), "--chdir", "/autograder", "--clearenv",
            "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/tmp", "bash", script,
        ]  # fmt: skip
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=seconds, check=False
        )

    def grade(self, files: Mapping[str, str], metadata: Mapping[str, Any] | None = None) -> Ran:
        """Hand in files and run the autograder on them."""
        shutil.rmtree(self.home / "submission")
        (self.home / "submission").mkdir()
        for name, text in files.items():
            (self.home / "submission" / name).write_text(text, encoding="utf-8")
        about = self.home / "submission_metadata.json"
        about.unlink(missing_ok=True)
        if metadata is not None:
            about.write_text(json.dumps(metadata), encoding="utf-8")
        done = self.run("/autograder/run_autograder")
        results = json.loads((self.home / "results" / "results.json").read_text(encoding="utf-8"))
        return Ran(done.returncode, done.stdout + done.stderr, results)
