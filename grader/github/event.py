"""What GitHub tells a job: variables of the environment and the event's payload, checked before use.

A payload is GitHub's own, yet much of what stands in it was written by whoever opened the pull request: titles, names
of branches, texts. Only numbers, hashes and names of repositories are taken from it, and of a branch's name only its
use as a parameter of a request. Nothing else of it is ever printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_EVENT_BYTES = 25 * 1024 * 1024
REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
DEFAULT_API = "https://api.github.com"


class EventError(RuntimeError):
    """The environment is not that of a job that can be served; the text says what is missing or wrong."""


@dataclass(frozen=True)
class Run:
    """The job that we run in."""

    event: str
    payload: Mapping[str, Any]
    repository: str
    api_url: str
    token: str
    commit: str
    workspace: Path
    summary: Path | None = None
    output: Path | None = None


@dataclass(frozen=True)
class HandIn:
    """The run of the `hand-in` workflow that a `workflow_run` event tells of."""

    run: int
    commit: str
    """What was at the head of the pull request when that run began."""
    head_repository: int
    head_owner: str
    head_branch: str


def read_run(environment: Mapping[str, str]) -> Run:
    """The job, from the variables that GitHub sets. Raises EventError."""
    repository = environment.get("GITHUB_REPOSITORY", "")
    if not REPOSITORY.fullmatch(repository):
        raise EventError("GITHUB_REPOSITORY names no repository: --github is for a job of GitHub Actions")
    path = environment.get("GITHUB_EVENT_PATH", "")
    return Run(
        event=environment.get("GITHUB_EVENT_NAME", ""),
        payload=_payload(Path(path)) if path else {},
        repository=repository,
        api_url=environment.get("GITHUB_API_URL") or DEFAULT_API,
        token=environment.get("GITHUB_TOKEN", ""),
        commit=_text({"GITHUB_SHA": environment.get("GITHUB_SHA", "")}, COMMIT, "GITHUB_SHA"),
        workspace=Path(environment.get("GITHUB_WORKSPACE") or "."),
        summary=_file(environment, "GITHUB_STEP_SUMMARY"),
        output=_file(environment, "GITHUB_OUTPUT"),
    )


def _file(environment: Mapping[str, str], name: str) -> Path | None:
    return Path(environment[name]) if environment.get(name) else None


def _payload(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_EVENT_BYTES + 1)
        if len(text) > MAX_EVENT_BYTES:
            raise EventError("the event's payload is larger than GitHub makes them")
        payload = json.loads(text)
    except (OSError, ValueError, RecursionError):
        raise EventError("GITHUB_EVENT_PATH holds no JSON") from None
    if not isinstance(payload, dict):
        raise EventError("GITHUB_EVENT_PATH holds no event")
    return payload


def graded_commit(run: Run) -> str:
    """The commit that a job's files are of: a pull request's head rather than its merge. Raises EventError."""
    if run.event == "pull_request":
        return _text(run.payload, COMMIT, "pull_request", "head", "sha")
    return run.commit


def pull_request_number(run: Run) -> int | None:
    """The pull request of a `pull_request` job."""
    return _number(run.payload, "pull_request", "number") if run.event == "pull_request" else None


def hand_in(run: Run) -> HandIn:
    """What a `workflow_run` event tells of. Raises EventError where it is none of a pull request's run here."""
    if run.event != "workflow_run":
        raise EventError("name a submission: only a workflow_run event brings one of its own")
    if _text(run.payload, REPOSITORY, "repository", "full_name") != run.repository:
        raise EventError("the event is one of another repository")
    if _at(run.payload, "workflow_run", "event") != "pull_request":
        raise EventError("the run that ended was not started by a pull request: there is nothing to grade")
    if _at(run.payload, "workflow_run", "conclusion") != "success":
        raise EventError("the run that ended did not succeed: nothing was handed in")
    branch = _at(run.payload, "workflow_run", "head_branch")
    return HandIn(
        run=_number(run.payload, "workflow_run", "id"),
        commit=_text(run.payload, COMMIT, "workflow_run", "head_sha"),
        head_repository=_number(run.payload, "workflow_run", "head_repository", "id"),
        head_owner=_text(run.payload, REPOSITORY, "workflow_run", "head_repository", "full_name").partition("/")[0],
        head_branch=branch if isinstance(branch, str) else "",
    )


def _at(payload: Any, *keys: str) -> Any:
    for key in keys:
        payload = payload.get(key) if isinstance(payload, dict) else None
    return payload


def _text(payload: Any, pattern: re.Pattern[str], *keys: str) -> str:
    value = _at(payload, *keys)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise EventError(f"{'.'.join(keys)} is not what GitHub sends")
    return value


def _number(payload: Any, *keys: str) -> int:
    value = _at(payload, *keys)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise EventError(f"{'.'.join(keys)} is not what GitHub sends")
    return value
