"""The two jobs of a students' repository, run here: their scripts as the workflows have them, git and GitHub beside."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from grader.forges import set_up_github
from grader.release import write_students_copy
from selftests.fake_github import REPOSITORY, TOKEN, FakeGitHub
from selftests.github_payloads import OWNER, RUN, pull, pull_request_event, workflow_run_event
from selftests.running_grade import ROOT

SECRET = "the secret of this course"
GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@x",
    "GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x@x",
}  # fmt: skip
Ran = subprocess.CompletedProcess[str]


def workflow(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


def script(path: Path, step: str) -> dict[str, Any]:
    """The step of that name of a workflow's only job."""
    (job,) = workflow(path)["jobs"].values()
    (found,) = [each for each in job["steps"] if each.get("name") == step]
    return dict(found)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env=os.environ | GIT, capture_output=True, encoding="utf-8", check=True
    )
    return done.stdout.strip()


@dataclass
class Forge:
    """The course's repository with its default branch, an environment with the wheel alone, and GitHub."""

    folder: Path
    server: FakeGitHub

    @property
    def course(self) -> Path:
        return self.folder / "course"

    @property
    def bin(self) -> Path:
        return self.folder / "environment" / "bin"

    def set_up(self) -> None:
        write_students_copy(ROOT, self.course)
        set_up_github(ROOT, self.course)
        git(self.course, "init", "--quiet", "--initial-branch=main")
        self.commit(self.course)
        environment = self.folder / "environment"
        venv.create(environment, with_pip=False, symlinks=True)
        (wheel,) = (self.course / ".github" / "grader").glob("*.whl")
        pip = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "install", "--quiet"]
        subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, stdin=subprocess.DEVNULL)
        # The packages that the lock names are those that are installed here; this project itself is the wheel's.
        (site,) = environment.glob("lib/python*/site-packages")
        there = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
        (site / "of-this-environment.pth").write_text("".join(f"{entry}\n" for entry in there))

    def commit(self, folder: Path) -> str:
        git(folder, "add", "--all", "--force", ".")
        git(folder, "commit", "--quiet", "--allow-empty", "--message", "work")
        return git(folder, "rev-parse", "HEAD")

    def fork(self, name: str, files: Mapping[str, str | bytes]) -> Path:
        """A fork with other files on it, committed."""
        fork = self.folder / name
        git(self.folder, "clone", "--quiet", str(self.course), str(fork))
        self.push(fork, files)
        return fork

    def push(self, fork: Path, files: Mapping[str, str | bytes]) -> str:
        for file, content in files.items():
            path = fork / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        head = self.commit(fork)
        # What GitHub would answer about the commit is what git says about it.
        for tree in (head, git(fork, "rev-parse", f"{head}:exercises")):
            listed = [line.split(maxsplit=3) for line in git(fork, "ls-tree", tree).splitlines()]
            self.server.trees[tree] = [
                {"mode": mode, "type": kind, "sha": sha, "path": path} for mode, kind, sha, path in listed
            ]
        return head

    def run(self, step: Mapping[str, Any], folder: Path, **variables: str) -> Ran:
        """A step's script, as the runner starts it, and nothing in the environment but what it sets."""
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder,
            env={
                "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(self.folder),
                "CI": "true",
                **variables,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=150,
        )
        return done

    def hand_in(self, fork: Path) -> bytes:
        """What the `pull_request` job uploads: its script, then a zip as upload-artifact makes it."""
        there = self.folder / f"runner-{fork.name}-{git(fork, 'rev-parse', 'HEAD')[:8]}"
        there.mkdir()
        step = script(fork / ".github" / "workflows" / "hand-in.yml", "Take the exercise files as the commit has them")
        done = self.run(step, fork, RUNNER_TEMP=str(there), **GIT)
        assert done.returncode == 0, done.stderr
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted((there / "hand-in").iterdir()):
                archive.write(path, path.name)
        return buffer.getvalue()

    def feedback(self, head: str, branch: str = "main", title: str = "My answers") -> tuple[Ran, Path]:
        """The trusted job's last step, on the default branch; returns what ran and the job's summary."""
        files = {name: self.folder / f"{name}-{len(self.server.requests)}" for name in ("summary", "output", "event")}
        files["event"].write_text(json.dumps(workflow_run_event(head, branch, title)))
        step = script(self.course / ".github" / "workflows" / "feedback.yml", "Grade and write the feedback")
        assert set(step["env"]) == {"GITHUB_TOKEN", "NANOLM_SECRET"}
        ran = self.run(
            step, self.course, **github_variables("workflow_run", files, self.course, self.server.url),
            GITHUB_TOKEN=TOKEN, NANOLM_SECRET=SECRET,
        )  # fmt: skip
        return ran, files["summary"]

    def open_pull_request(self, head: str, branch: str = "main", title: str = "My answers") -> None:
        self.server.pulls = [pull(head, branch, title=title)]


def github_variables(event: str, files: Mapping[str, Path], workspace: Path, url: str) -> dict[str, str]:
    return {
        "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": str(files["event"]),
        "GITHUB_STEP_SUMMARY": str(files["summary"]), "GITHUB_OUTPUT": str(files["output"]),
        "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_API_URL": url, "GITHUB_SHA": "b" * 40,
        "GITHUB_WORKSPACE": str(workspace), "GITHUB_ACTOR": OWNER, "GITHUB_RUN_ID": str(RUN),
    }  # fmt: skip


__all__ = ["Forge", "git", "github_variables", "pull_request_event", "script", "workflow"]
