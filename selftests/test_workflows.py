"""The workflows as texts: valid to who reads them, pinned, with the least rights, no stranger's word in a shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from grader import release
from grader.forges import set_up_github, set_up_gitlab, strangers
from grader.leaks import Secrets
from grader.release import write_students_copy
from selftests.running_grade import ROOT, nanolm

BIN = Path(sys.executable).parent
OURS = ROOT / ".github" / "workflows" / "ci.yml"
ACTIONS = {
    "actions/checkout": ("08c6903cd8c0fde910a37f88322edcfb5dd907a8", "v5.0.0"),
    "actions/setup-python": ("e797f83bcb11b83ae66e0230d6156d7c80228e7c", "v6.0.0"),
    "actions/upload-artifact": ("b7c566a772e6b6bfb58ed0dc250532a479d7789f", "v6.0.0"),
}
"""The only actions that are used, each at one commit."""

RIGHTS = {
    "ci": {"contents: read"},
    "check": {"contents: read"},
    "hand-in": {"contents: read"},
    "feedback": {"actions: read", "checks: write", "contents: read", "pull-requests: write"},
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A students' repository with everything for pull requests and merge requests in it."""
    target = tmp_path_factory.mktemp("students") / "copy"
    write_students_copy(ROOT, target)
    before = target / ".github" / "grader" / "nanolm_exercises-0.0.1-py3-none-any.whl"
    before.parent.mkdir(parents=True)
    before.write_bytes(b"of an earlier version")
    set_up_github(ROOT, target)
    set_up_gitlab(ROOT, target)
    return target


@pytest.fixture(scope="module")
def workflows(copy: Path) -> dict[str, Path]:
    theirs = {path.stem: path for path in (copy / ".github" / "workflows").iterdir()}
    return {"ci": OURS, **theirs}


def loaded(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in loaded(path)["jobs"].values():
        yield from job["steps"]


def tool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program, *rest = map(str, arguments)
    return subprocess.run([BIN / program, *rest], capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL)


def test_every_workflow_is_here(workflows: dict[str, Path]) -> None:
    assert set(workflows) == set(RIGHTS)


def test_the_schemas_accept_them_and_would_refuse_others(
    workflows: dict[str, Path], copy: Path, tmp_path: Path
) -> None:
    schema = ("check-jsonschema", "--builtin-schema", "vendor.github-workflows")
    done = tool(*schema, *workflows.values())
    assert done.returncode == 0, done.stdout
    gitlab = ("check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci")
    done = tool(*gitlab, copy / ".gitlab-ci.yml")
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(OURS.read_text(encoding="utf-8").replace("runs-on:", "run-on:"), encoding="utf-8")
    assert tool(*schema, wrong).returncode == 1


def test_the_auditor_finds_nothing_and_would_find_something(workflows: dict[str, Path], tmp_path: Path) -> None:
    done = tool("zizmor", "--offline", "--no-progress", *workflows.values())
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.yml"
    text = workflows["feedback"].read_text(encoding="utf-8")
    injected = "echo ${{ github.event.workflow_run.head_branch }}"
    wrong.write_text(text.replace("sudo apt-get update -qq", injected), encoding="utf-8")
    assert tool("zizmor", "--offline", "--no-progress", wrong).returncode > 10


def test_actions_are_pinned_by_commit(workflows: dict[str, Path], copy: Path) -> None:
    used = [
        line for path in workflows.values() for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line
    ]
    assert len(used) >= 9
    for line in used:
        found = re.fullmatch(r"\s+(?:- )?uses: ([\w-]+/[\w-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)", line)
        assert found is not None, line
        assert ACTIONS[found[1]] == (found[2], found[3]), line


def test_tokens_have_the_least_rights(workflows: dict[str, Path]) -> None:
    for name, path in workflows.items():
        whole = loaded(path)
        given = [whole["permissions"], *(job["permissions"] for job in whole["jobs"].values() if "permissions" in job)]
        assert {f"{key}: {value}" for each in given for key, value in each.items()} == RIGHTS[name]
        for step in steps(path):
            if str(step.get("uses", "")).startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
        assert all("timeout-minutes" in job for job in whole["jobs"].values())
        # GITHUB_TOKEN and secrets go to the one step that needs them.
        holders = [step for step in steps(path) if "secrets." in str(step) or "github.token" in str(step)]
        assert [step["name"] for step in holders] == (["Grade and write the feedback"] if name == "feedback" else [])


def test_no_expression_stands_in_a_script(workflows: dict[str, Path]) -> None:
    """Values reach a shell through its environment: there they are never code."""
    scripts = [step["run"] for path in workflows.values() for step in steps(path) if "run" in step]
    assert len(scripts) >= 10
    assert not any("${{" in text for text in scripts)


def test_the_trusted_job_takes_nothing_of_the_pull_request_but_data(workflows: dict[str, Path]) -> None:
    feedback = loaded(workflows["feedback"])
    trigger = feedback[True]  # YAML 1.1 reads `on` as a truth value
    assert trigger == {"workflow_run": {"workflows": ["hand-in"], "types": ["completed"]}}
    assert loaded(workflows["hand-in"])["name"] == "hand-in"
    (checkout,) = [step for step in steps(workflows["feedback"]) if "checkout" in str(step.get("uses"))]
    assert set(checkout["with"]) == {"persist-credentials"}  # no ref: the default branch
    assert not any(
        "download-artifact" in str(step) or "cache" in str(step.get("with")) for step in steps(workflows["feedback"])
    )


def test_no_job_that_runs_a_strangers_workflow_has_secrets(workflows: dict[str, Path]) -> None:
    for name in ("ci", "check", "hand-in"):
        assert "pull_request" in loaded(workflows[name])[True]
        assert "secrets" not in workflows[name].read_text(encoding="utf-8")
    assert not any("pull_request_target" in path.read_text(encoding="utf-8") for path in workflows.values())


def locked_torch() -> str:
    return next(line for line in (ROOT / "requirements.lock").read_text().splitlines() if line.startswith("torch=="))


@pytest.mark.skipif(
    metadata.version("torch").partition("+")[0] != locked_torch().removeprefix("torch=="),
    reason="another torch is kept here",
)
def test_the_grader_is_installed_from_pins(workflows: dict[str, Path], copy: Path, tmp_path: Path) -> None:
    """The step's own script, as a dry run without an index: all that it asks for is installed here by the lock."""
    (install,) = [step["run"] for step in steps(workflows["feedback"]) if step.get("name") == "Install the grader"]
    environment = {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PIP_DRY_RUN": "1",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "",
    }
    shell = ["bash", "-eo", "pipefail", "-c", install]
    done = subprocess.run(shell, cwd=copy, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        shell, cwd=copy, env=environment | {"TORCH_INDEX": "file:///x"}, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    lock = copy / ".github" / "grader" / "requirements.lock"
    pinned = lock.read_text()
    assert "msgspec==" in pinned
    assert "pyseccomp==" in pinned
    assert "nbgrader" not in pinned
    lock.write_text(pinned.replace("msgspec==", "msgspec==9."))
    try:
        assert subprocess.run(shell, cwd=copy, env=environment, capture_output=True).returncode != 0
    finally:
        lock.write_text(pinned)


def test_the_wheel_holds_no_answer(tmp_path: Path) -> None:
    """`nanolm/` is proven by the students' copy; this is the rest of the wheel, which may name solution markers."""
    secrets = Secrets(ROOT)
    for path in (ROOT / "grader").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            leak = secrets.leak(path.name, path.read_bytes())
            assert leak is None or "looks like a solution marker" in leak, leak


def test_a_stray_file_in_a_wheel_is_seen(copy: Path, tmp_path: Path) -> None:
    (wheel,) = (copy / ".github" / "grader").glob("*.whl")
    assert strangers(wheel) == []
    other = Path(shutil.copy(wheel, tmp_path))
    with zipfile.ZipFile(other, "a") as archive:
        archive.writestr("solutions/modules.py", "x = 1\n")
    assert strangers(other) == ["solutions/modules.py"]


def test_only_a_students_repository_is_set_up(tmp_path: Path, copy: Path) -> None:
    done = nanolm("pull-requests", "--into", tmp_path)
    assert (done.returncode, "nanolm release --student" in done.stderr) == (1, True)
    done = nanolm("pull-requests", "--into", ROOT)
    assert done.returncode == 1
    assert re.search(r"holds \w+/: it is the instructors' repository", done.stderr)
    assert len(list((copy / ".github" / "grader").glob("*.whl"))) == 1
    assert release.TEMPLATES.is_dir()
