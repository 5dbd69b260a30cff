"""From a fork's commit to the comment: both jobs' scripts, the grader as a wheel, a server that answers like GitHub."""

from __future__ import annotations

import io
import json
import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
import yaml

from grader.forges import set_up_gitlab
from grader.reports.markdown import MARKER
from selftests.fake_github import BOT, TOKEN, FakeGitHub
from selftests.github_jobs import SECRET, Forge, git, github_variables, pull_request_event, script
from selftests.github_payloads import HOSTILE, OWNER, PULL, RUN
from selftests.running_grade import ANSWERS, FULL, ROOT, nanolm
from selftests.test_reports_markdown import check_inert

CENTERING = ANSWERS["modules.py"].replace(
    "        wide = x.to(", "        x = x - x.mean(-1, keepdim=True)\n        wide = x.to("
)
RIGHT = {f"exercises/{file}": text for file, text in ANSWERS.items()}


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    with FakeGitHub() as server:
        forge = Forge(tmp_path_factory.mktemp("forge"), server)
        forge.set_up()
        yield forge


@pytest.fixture(autouse=True)
def clean(forge: Forge) -> None:
    """GitHub as it was before anybody opened a pull request."""
    server = forge.server
    for kept in (server.requests, server.failures, server.pulls, server.comments, server.checks):
        kept.clear()
    server.artifacts.clear()
    server.permissions = {"checks", "pull-requests"}


def ours(forge: Forge) -> str:
    (comment,) = [each for each in forge.server.comments if each["user"] == BOT]
    assert comment["pull"] == PULL
    return str(comment["body"])


def test_a_pull_request_gets_checks_annotations_and_one_comment(forge: Forge) -> None:
    """A first push with a mistake, a second without it; the fork brings its own tests and its own grader, in vain."""
    forge.server.page_size = 2
    for number in range(3):
        forge.server.comments.append(
            {"id": number + 1, "pull": PULL, "user": {"login": OWNER, "type": "User"}, "body": MARKER}
        )
    pwned = forge.folder / "pwned"
    code = f"import pathlib\npathlib.Path({str(pwned)!r}).touch()\n"
    theirs = dict.fromkeys(
        ("conftest.py", "sitecustomize.py", "nanolm/__init__.py", "tests/tolerances.py", "exercises/config.py"), code
    )
    fork = forge.fork("mistaken", RIGHT | {"exercises/modules.py": CENTERING} | theirs)
    head = git(fork, "rev-parse", "HEAD")
    forge.open_pull_request(head)
    forge.server.add_artifact(RUN, forge.hand_in(fork))
    ran, summary = forge.feedback(head)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stderr == ""
    assert not pwned.exists()

    first = ours(forge)
    assert "**rmsnorm-centering** (subtracts the mean)" in first
    assert head[:12] in first
    check_inert(first)
    check_inert(summary.read_text())
    assert "rmsnorm-centering" in summary.read_text()
    assert forge.server.check("nanolm / swiglu")["conclusion"] == "success"
    rmsnorm = forge.server.check("nanolm / rmsnorm")
    assert (rmsnorm["conclusion"], rmsnorm["head_sha"]) == ("failure", head)
    notes = rmsnorm["output"]["annotations"]
    defined = 1 + CENTERING[: CENTERING.index("class RMSNorm")].count("\n")
    assert {(note["path"], note["start_line"]) for note in notes} == {("exercises/modules.py", defined)}
    assert forge.server.checks[0]["name"] == "nanolm"
    assert len(forge.server.checks) == 10

    forge.server.checks.clear()
    head = forge.push(fork, RIGHT)
    forge.open_pull_request(head)
    forge.server.add_artifact(RUN, forge.hand_in(fork))
    ran, _ = forge.feedback(head)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    second = ours(forge)
    assert f"## {FULL:g} of {FULL:g} points" in second
    assert head[:12] in second
    assert {each["conclusion"] for each in forge.server.checks} == {"success"}
    assert [each["body"] for each in forge.server.comments[:3]] == [MARKER] * 3
    for stream in (ran.stdout, ran.stderr, second):
        assert TOKEN not in stream
        assert SECRET not in stream


HOSTILE_MODULES = f'''
"""A file whose every word is meant for somebody's page, log or shell."""
from torch import nn

TEXTS = {HOSTILE!r}


class RMSNorm(nn.Module):
    count = 0

    def __init__(self, *sizes, **more):
        RMSNorm.count += 1
        raise ValueError(TEXTS[RMSNorm.count % len(TEXTS)])


class SwiGLU(nn.Module):
    def __init__(self, *sizes):
        raise type("E" + TEXTS[0], (Exception,), {{}})("\\n".join(TEXTS)[:50_000])
'''


def test_hostile_texts_reach_nobody(forge: Forge) -> None:
    """In titles, names of branches, messages and the code itself. The files are hostile to shells as well."""
    names = (
        "::set-output name=x::1",
        "$(touch pwned)",
        "`touch pwned`",
        "a;touch pwned",
        "-rf",
        "modules.py\n::error::x",
    )
    files = {f"exercises/{name}.py": "raise SystemExit\n" for name in names}
    fork = forge.fork("hostile", {"exercises/modules.py": HOSTILE_MODULES, **files})
    head = git(fork, "rev-parse", "HEAD")
    branch, title = "$(touch pwned)`touch pwned`;@everyone", "\n".join(HOSTILE)[:5000]
    forge.open_pull_request(head, branch, title)
    forge.server.add_artifact(RUN, forge.hand_in(fork))
    ran, summary = forge.feedback(head, branch, title)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    page = check_inert(ours(forge))
    assert "ValueError" in page.code
    check_inert(summary.read_text())
    for check in forge.server.checks:
        check_inert(check["output"]["summary"])
        assert check["output"]["title"].isprintable()
    log = ran.stdout + ran.stderr
    assert not re.search(r"^\s*(::|##\[)", log, re.MULTILINE)
    assert "\x1b" not in log
    assert not list(forge.folder.rglob("pwned"))
    assert forge.server.check("nanolm / rmsnorm")["conclusion"] == "failure"


def test_what_is_not_the_commits_is_not_graded(forge: Forge) -> None:
    """The run of a fork can upload whatever it likes: here somebody's right answers under a commit with stubs."""
    fork = forge.fork("forged", {"README.md": "mine\n"})
    head = git(fork, "rev-parse", "HEAD")
    forge.open_pull_request(head)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for file, text in ANSWERS.items():
            archive.writestr(file, text)
        archive.writestr("event.json", json.dumps({"number": 1, "pull_request": {"number": 1}}))
    forge.server.add_artifact(RUN, buffer.getvalue())
    ran, _ = forge.feedback(head)
    assert ran.returncode == 3, ran.stdout + ran.stderr
    assert "not what the commit holds" in ours(forge)
    assert [(each["name"], each["conclusion"]) for each in forge.server.checks] == [("nanolm", "neutral")]


def test_where_the_head_has_moved_on_no_comment_is_written(forge: Forge) -> None:
    fork = forge.fork("moved", {"exercises/budget.py": ANSWERS["budget.py"]})
    head = git(fork, "rev-parse", "HEAD")
    forge.open_pull_request("c" * 40)
    forge.server.add_artifact(RUN, forge.hand_in(fork))
    ran, _ = forge.feedback(head)
    assert ran.returncode == 0, ran.stderr
    assert "no comment was written" in ran.stdout
    assert forge.server.comments == []
    assert forge.server.check("nanolm / budget")["head_sha"] == head


def test_a_token_without_permissions_is_told_and_fails_the_job(forge: Forge) -> None:
    fork = forge.fork("powerless", {"README.md": "mine\n"})
    head = git(fork, "rev-parse", "HEAD")
    forge.open_pull_request(head)
    forge.server.add_artifact(RUN, b"<html>")
    forge.server.permissions = {"pull-requests"}
    ran, summary = forge.feedback(head)
    assert ran.returncode == 1
    assert "the checks could not be written" in ran.stderr
    assert "permissions" in ran.stderr
    # What could be written is.
    assert "is not a zip" in ours(forge)
    assert "is not a zip" in summary.read_text()


def test_another_event_or_a_weak_isolation_is_wrong_usage(forge: Forge, tmp_path: Path) -> None:
    step = script(forge.course / ".github" / "workflows" / "feedback.yml", "Grade and write the feedback")
    files = {name: tmp_path / name for name in ("summary", "output", "event")}
    files["event"].write_text(json.dumps(pull_request_event("a" * 40)))
    variables = github_variables("pull_request", files, forge.course, forge.server.url)
    ran = forge.run(step, forge.course, **variables)
    assert (ran.returncode, "workflow_run" in ran.stderr) == (2, True)
    weaker = {"run": step["run"].replace("best-medium", "best")}
    ran = forge.run(weaker, forge.course, **variables | {"GITHUB_EVENT_NAME": "workflow_run"})
    assert (ran.returncode, "best-medium" in ran.stderr) == (2, True)
    assert forge.server.requests == []


def test_a_named_submission_in_a_pull_request_of_the_repository_itself(forge: Forge, tmp_path: Path) -> None:
    """With a PATH: commands in the log, and what a fork's token may not write is a notice, not a failure."""
    fork = forge.fork("named", {"exercises/modules.py": CENTERING})
    head = git(fork, "rev-parse", "HEAD")
    files = {name: tmp_path / name for name in ("summary", "output", "event")}
    files["event"].write_text(json.dumps(pull_request_event(head)))
    forge.server.permissions = set()
    options = "--course ../course --exercise rmsnorm --isolation best --junit junit.xml"
    step = {"run": f"nanolm grade exercises --github {options}"}
    variables = github_variables("pull_request", files, fork, forge.server.url) | {"GITHUB_TOKEN": TOKEN}
    ran = forge.run(step, fork, **variables)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    commands = re.findall(r"^::(\w+) .*$", ran.stdout, re.MULTILINE)
    assert commands == ["error", "notice", "notice"]
    assert re.search(
        r"^::error file=exercises/modules\.py,line=\d+,title=rmsnorm-centering%3A", ran.stdout, re.MULTILINE
    )
    assert "rmsnorm-centering" in files["summary"].read_text()
    assert re.fullmatch(r"status=graded\nscore=[\d.]+\nmax_score=14\n", files["output"].read_text())
    assert "<failure" in (fork / "junit.xml").read_text()


def test_a_merge_request_on_gitlab_gets_its_reports(forge: Forge, tmp_path: Path) -> None:
    """The pipeline's last line, in a fork: the lines before it install what is here already."""
    set_up_gitlab(ROOT, forge.course)
    *install, line = yaml.safe_load((forge.course / ".gitlab-ci.yml").read_text())["feedback"]["script"]
    assert all("pip install" in each or each.startswith("torch=$(") for each in install)
    fork = forge.fork("gitlab", {"exercises/modules.py": CENTERING})
    ran = forge.run({"run": line}, fork, CI_PROJECT_DIR=str(fork))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    suites = Xml.fromstring((fork / "junit.xml").read_text())
    assert [suite.get("failures") != "0" for suite in suites if suite.get("name") in ("rmsnorm", "swiglu")] == [
        True,
        False,
    ]
    issues = json.loads((fork / "codequality.json").read_text())
    assert [(issue["check_name"], issue["location"]["path"]) for issue in issues] == [
        ("rmsnorm-centering", "exercises/modules.py")
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--ledger", "week6.db"), "takes no --ledger"),
        (("--roster", "roster.csv"), "no --roster"),
        (("--json", "missing/grades.json"), "--json: there is no folder"),
        (("--junit", "missing/junit.xml"), "--junit: there is no folder"),
        (("--code-quality", "."), "--code-quality: .* is a folder"),
        (("--round", "x"), "GITHUB_REPOSITORY names no repository"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_asked_of_github(
    tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    done = nanolm("grade", "--github", "--course", ROOT, "--isolation", "best-medium", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert re.search(words, done.stderr), done.stderr


def test_the_wheel_is_all_of_the_project_that_was_used(forge: Forge) -> None:
    code = "import grader, nanolm; print(grader.__file__, nanolm.__file__)"
    ran = subprocess.run([forge.bin / "python", "-c", code], cwd="/", capture_output=True, text=True, check=True)
    assert all(path.startswith(str(forge.folder / "environment")) for path in ran.stdout.split())
    assert not any(
        (forge.course / name).exists() for name in ("solutions", "mistakes", "source", "selftests", "grader")
    )
