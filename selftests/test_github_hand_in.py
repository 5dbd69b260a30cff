"""What a pull request's run hands over is data: read in memory, compared with the commit, refused where it differs."""

from __future__ import annotations

import copy
import io
import json
import stat
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.github.api import GitHub
from grader.github.event import COMMIT, EventError, Run, graded_commit, hand_in, pull_request_number, read_run
from grader.github.handin import Handed, blob_id, committed, compared, fetch, pull_requests
from grader.sourcetext import Unreadable
from selftests.fake_github import REPOSITORY, TOKEN, FakeGitHub
from selftests.github_payloads import HOSTILE, PULL, RUN, pull, pull_request_event, workflow_run_event

HEAD = "a" * 40
FILES = {"modules.py": b"class RMSNorm: ...\r\n", "budget.py": "# Б\n".encode()}


def blobs(files: Mapping[str, bytes] = FILES) -> dict[str, str]:
    return {name: blob_id(content, HEAD) for name, content in files.items()}


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def environment(tmp_path: Path, event: str, payload: object, **more: str) -> dict[str, str]:
    path = tmp_path / "event.json"
    path.write_text(payload if isinstance(payload, str) else json.dumps(payload), encoding="utf-8")
    return {
        "GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": str(path), "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_SHA": "b" * 40, "GITHUB_TOKEN": TOKEN, **more,
    }  # fmt: skip


# ── The event ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_hand_in_is_read_from_the_event(tmp_path: Path) -> None:
    told = hand_in(read_run(environment(tmp_path, "workflow_run", workflow_run_event(HEAD, "week 6"))))
    assert (told.run, told.commit, told.head_owner, told.head_branch) == (RUN, HEAD, "student-1", "week 6")


CHANGES: list[tuple[tuple[str, ...], object]] = [
    (("repository", "full_name"), "somebody/else"),
    (("workflow_run", "event"), "push"),
    (("workflow_run", "conclusion"), "failure"),
    (("workflow_run", "head_sha"), "HEAD; touch pwned"),
    (("workflow_run", "head_sha"), None),
    (("workflow_run", "id"), "900/../../pulls"),
    (("workflow_run", "id"), True),
    (("workflow_run", "head_repository"), None),
    (("workflow_run", "head_repository", "full_name"), "../../x"),
    (("workflow_run",), []),
]


@pytest.mark.parametrize(("keys", "value"), CHANGES)
def test_an_event_that_is_none_of_a_hand_in_is_refused(tmp_path: Path, keys: tuple[str, ...], value: object) -> None:
    payload: dict[str, Any] = copy.deepcopy(workflow_run_event(HEAD))
    inner = payload
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    with pytest.raises(EventError) as caught:
        hand_in(read_run(environment(tmp_path, "workflow_run", payload)))
    assert "pwned" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "not JSON", "[]", "[" * 100_000, '"x"'])
def test_a_broken_payload_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(EventError, match="GITHUB_EVENT_PATH"):
        read_run(environment(tmp_path, "workflow_run", text))


@pytest.mark.parametrize("name", ["", "course", "course/exercises/../..", "course/ex ercises"])
def test_outside_a_job_it_says_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(EventError, match="names no repository"):
        read_run(environment(tmp_path, "push", {}) | {"GITHUB_REPOSITORY": name})


def test_the_commit_of_a_pull_request_is_its_head_not_its_merge(tmp_path: Path) -> None:
    run = read_run(environment(tmp_path, "pull_request", pull_request_event(HEAD)))
    assert (graded_commit(run), pull_request_number(run)) == (HEAD, PULL)
    run = read_run(environment(tmp_path, "push", {}))
    assert (graded_commit(run), pull_request_number(run)) == ("b" * 40, None)


# ── Whose pull request it is ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def server() -> Iterator[FakeGitHub]:
    with FakeGitHub() as fake:
        yield fake


def run_of(tmp_path: Path, branch: str = "main") -> Run:
    return read_run(environment(tmp_path, "workflow_run", workflow_run_event(HEAD, branch)))


@pytest.mark.parametrize(
    "branch", ["main", "a&state=closed", "x#y", "ä ö", *(text for text in HOSTILE[:-1] if "\ud800" not in text)]
)
def test_the_pull_request_is_found_by_its_head(server: FakeGitHub, tmp_path: Path, branch: str) -> None:
    server.pulls = [
        pull(HEAD, branch),
        pull("c" * 40, branch, number=8),  # its head has moved on
        pull(HEAD, branch, number=9) | {"base": {"repo": {"full_name": "somebody/else"}}},
        pull(HEAD, branch, number=10) | {"head": {"label": f"student-1:{branch}", "sha": HEAD, "repo": None}},
        pull(HEAD, branch, number=11) | {"head": {"label": f"student-1:{branch}", "sha": HEAD, "repo": {"id": 33}}},
    ]
    run = run_of(tmp_path, branch)
    assert pull_requests(GitHub(server.url, TOKEN), run, hand_in(run)) == [PULL]
    (asked,) = server.sent("GET", ".*/pulls")
    assert asked.query["state"] == ["open"]


def test_a_branch_that_git_would_not_have_is_nobodys(server: FakeGitHub, tmp_path: Path) -> None:
    for branch in ("", "x" * 100_000, "\ud800"):
        server.pulls = [pull(HEAD, branch)]
        run = run_of(tmp_path, branch)
        assert pull_requests(GitHub(server.url, TOKEN), run, hand_in(run)) == []


# ── What was handed over ─────────────────────────────────────────────────────────────────────────────────────────────


def test_what_the_commit_holds_is_taken_byte_by_byte() -> None:
    more = {
        "conftest.py": b"raise SystemExit",
        "exercises/modules.py": b"other",
        "../modules.py": b"x",
        "grade.json": b"{}",
    }
    handed = compared(zipped({**more, **FILES}), blobs())
    assert handed == Handed(FILES)


def test_a_file_that_is_not_the_commits_is_refused() -> None:
    handed = compared(zipped({**FILES, "modules.py": b"somebody else's answer"}), blobs())
    assert handed.files == {}
    assert "not what the commit holds" in handed.problem
    handed = compared(zipped({"modules.py": FILES["modules.py"]}), blobs())
    assert handed.files == {}
    assert "budget.py is in the commit, but was not handed over" in handed.problem


def link(target: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        member = zipfile.ZipInfo("modules.py")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, target)
        archive.writestr("budget.py", FILES["budget.py"])
    return buffer.getvalue()


def twice() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("budget.py", FILES["budget.py"])
        archive.writestr("modules.py", FILES["modules.py"])
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("modules.py", b"other")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"PK\x03\x04 cut short", "damaged"),
        (b"<html>", "not a zip"),
        (zipped({**FILES, "modules.py": b"\0" * (300 * 1024)}), "larger than 256 KiB"),
        (zipped({**FILES, "modules.py": b"\0" * (64 << 20)}), "larger than 256 KiB"),
        (zipped({f"{number}.txt": b"" for number in range(2001)}), "more than 2000 entries"),
        (zipped(FILES, zipfile.ZIP_LZMA), "not accepted"),
        (link("/etc/passwd"), "symbolic link"),
        (twice(), "2 times"),
    ],
    ids=["empty", "cut", "page", "large", "bomb", "many", "lzma", "link", "twice"],
)
def test_a_hostile_archive_is_a_sentence(data: bytes, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        compared(data, blobs())


def test_git_agrees_about_the_names_of_files(tmp_path: Path) -> None:
    path = tmp_path / "modules.py"
    path.write_bytes(FILES["modules.py"])
    named = subprocess.run(
        ["git", "hash-object", "--no-filters", str(path)], capture_output=True, text=True, check=True
    )
    assert named.stdout.strip() == blob_id(FILES["modules.py"], HEAD)
    assert len(blob_id(b"", "f" * 64)) == 64


def entry(path: str, mode: str, sha: str) -> dict[str, str]:
    return {"path": path, "mode": mode, "type": "blob", "sha": sha}


def set_tree(server: FakeGitHub, *entries: dict[str, str], mode: str = "040000") -> None:
    server.trees = {HEAD: [entry("exercises", mode, "d" * 40), entry("modules.py", "100644", "1" * 40)]}
    server.trees["d" * 40] = list(entries)


def test_only_plain_exercise_files_of_the_commit_count(server: FakeGitHub, tmp_path: Path) -> None:
    api = GitHub(server.url, TOKEN)
    set_tree(
        server, entry("modules.py", "100755", "2" * 40), entry("budget.py", "120000", "3" * 40),
        entry("config.py", "100644", "4" * 40), entry("block.py", "100644", "not a hash"),
    )  # fmt: skip
    assert committed(api, REPOSITORY, HEAD) == {"modules.py": "2" * 40}
    set_tree(server, entry("modules.py", "100644", "2" * 40), mode="120000")
    assert committed(api, REPOSITORY, HEAD) == {}
    assert "none of the exercise files" in fetch(api, run_of(tmp_path), hand_in(run_of(tmp_path))).problem


def test_the_newest_artifact_that_is_left_is_taken(server: FakeGitHub, tmp_path: Path) -> None:
    api, run = GitHub(server.url, TOKEN), run_of(tmp_path)
    set_tree(server, *(entry(name, "100644", sha) for name, sha in blobs().items()))
    server.add_artifact(RUN, zipped(FILES), name="something-else")
    assert "left no artifact" in fetch(api, run, hand_in(run)).problem
    server.add_artifact(RUN, b"of the first attempt")
    server.add_artifact(RUN, zipped(FILES))
    server.add_artifact(RUN, b"gone", expired=True)
    assert fetch(api, run, hand_in(run)) == Handed(FILES)
    server.add_artifact(RUN, b"<html>")
    assert "is not a zip" in fetch(api, run, hand_in(run)).problem


def test_a_commit_is_a_hash() -> None:
    assert COMMIT.fullmatch(HEAD)
    assert not any(COMMIT.fullmatch(text) for text in ("main", HEAD[:39], HEAD.upper(), f"{HEAD}\n", "a" * 41))
