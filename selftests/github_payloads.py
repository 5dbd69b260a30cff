"""Event payloads in the shape in which GitHub records them, with its author's texts where a pull request has them."""

from __future__ import annotations

from typing import Any

from selftests.fake_github import REPOSITORY

BASE_ID, FORK_ID, PULL, RUN = 11, 22, 7, 900
OWNER = "student-1"

HOSTILE = (
    "::set-output name=score::100",
    "::error file=x::pwned",
    "##[set-env name=PATH]/tmp",
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    "${{ secrets.NANOLM_SECRET }}",
    "</code></pre></details><script>alert(1)</script>",
    "![x](https://beacon.example/a.png)",
    "<img src=https://beacon.example/b.png>",
    "[free points](https://phish.example)",
    "https://phish.example/auto www.phish.example",
    "@everyone @course/teachers #1 fixes #2",
    "```\n# not code any more\n````\n@course/teachers\n~~~~",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "\x1b[31mred\x1b[0m \x00 \u202edlrow \ud800 \u2028 \ufffe",
    "$\\href{https://phish.example}{x}$ :tada:",
    "<!-- nanolm feedback -->",
    "x" * 100_000,
)
"""Texts that would do something in a shell, a workflow's log, Markdown, HTML or a terminal."""


def pull(head_sha: str, branch: str = "main", *, number: int = PULL, title: str = "My answers") -> dict[str, Any]:
    """A pull request from a fork, as the API lists it and as the event holds it."""
    return {
        "number": number,
        "state": "open",
        "title": title,
        "body": title,
        "user": {"login": OWNER, "type": "User"},
        "head": {
            "label": f"{OWNER}:{branch}",
            "ref": branch,
            "sha": head_sha,
            "repo": {"id": FORK_ID, "full_name": f"{OWNER}/exercises", "fork": True},
        },
        "base": {"ref": "main", "sha": "b" * 40, "repo": {"id": BASE_ID, "full_name": REPOSITORY}},
    }


def pull_request_event(head_sha: str, branch: str = "main", title: str = "My answers") -> dict[str, Any]:
    return {
        "action": "synchronize",
        "number": PULL,
        "pull_request": pull(head_sha, branch, title=title),
        "repository": {"id": BASE_ID, "full_name": REPOSITORY, "default_branch": "main"},
        "sender": {"login": OWNER, "type": "User"},
    }


def workflow_run_event(head_sha: str, branch: str = "main", title: str = "My answers") -> dict[str, Any]:
    """What the trusted job gets. For a fork's pull request `pull_requests` is empty."""
    return {
        "action": "completed",
        "workflow_run": {
            "id": RUN,
            "name": "hand-in",
            "display_title": title,
            "event": "pull_request",
            "status": "completed",
            "conclusion": "success",
            "head_branch": branch,
            "head_sha": head_sha,
            "run_attempt": 1,
            "pull_requests": [],
            "head_commit": {"id": head_sha, "message": title, "author": {"name": title, "email": title}},
            "head_repository": {"id": FORK_ID, "full_name": f"{OWNER}/exercises", "fork": True},
            "repository": {"id": BASE_ID, "full_name": REPOSITORY},
        },
        "workflow": {"name": "hand-in", "path": ".github/workflows/hand-in.yml"},
        "repository": {"id": BASE_ID, "full_name": REPOSITORY, "default_branch": "main"},
        "sender": {"login": OWNER, "type": "User"},
    }
