"""A server on the loopback that answers like GitHub's REST API as far as we use it, and keeps every request.

It refuses what GitHub refuses: no token, a token without the permission, a body that is too long, more than 50
annotations in one request, an Authorization header at the store that holds the artifacts.
"""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

REPOSITORY = "course/exercises"
TOKEN = "token-of-this-job"
BOT = {"login": "github-actions[bot]", "type": "Bot"}


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


@dataclass
class Failure:
    """How the next requests that fit are answered instead, `times` of them."""

    pattern: str
    status: int
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = field(default_factory=lambda: {"message": "scripted"})
    after: bool = False
    """Carry the request out all the same, as a server does that breaks down while it answers."""


class FakeGitHub:
    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.failures: list[Failure] = []
        self.permissions = {"checks", "pull-requests"}
        self.page_size = 100
        self.trees: dict[str, list[dict[str, str]]] = {}
        self.pulls: list[dict[str, Any]] = []
        self.artifacts: dict[int, list[dict[str, Any]]] = {}
        self.blobs: dict[int, bytes] = {}
        self.comments: list[dict[str, Any]] = []
        self.checks: list[dict[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add_artifact(self, run: int, data: bytes, name: str = "hand-in", expired: bool = False) -> None:
        number = 100 + len(self.blobs)
        self.blobs[number] = data
        self.artifacts.setdefault(run, []).append({"id": number, "name": name, "expired": expired})

    def sent(self, method: str, pattern: str) -> list[Request]:
        return [each for each in self.requests if each.method == method and re.fullmatch(pattern, each.path)]

    def check(self, name: str) -> dict[str, Any]:
        (found,) = [each for each in self.checks if each["name"] == name]
        return found

    # What is answered: (status, body) or (status, body, headers).

    def answer(self, request: Request) -> tuple[Any, ...]:
        if request.path.startswith("/blob/"):
            if "Authorization" in request.headers:
                return 400, {"message": "InvalidAuthenticationInfo"}
            return 200, self.blobs[int(request.path.rpartition("/")[2])]
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return 401, {"message": "Bad credentials"}
        for failure in self.failures:
            if failure.times and re.fullmatch(failure.pattern, f"{request.method} {request.path}"):
                failure.times -= 1
                if failure.after:
                    self._carry_out(request)
                return failure.status, failure.body, failure.headers
        return self._carry_out(request)

    def _carry_out(self, request: Request) -> tuple[Any, ...]:
        prefix = f"/repos/{REPOSITORY}/"
        path = request.path.removeprefix(prefix)
        if not request.path.startswith(prefix):
            return 404, {"message": "Not Found"}
        for method, pattern, act in (
            ("GET", r"git/trees/(\w+)", self._tree),
            ("GET", r"pulls", self._pulls),
            ("GET", r"actions/runs/(\d+)/artifacts", self._artifacts),
            ("GET", r"actions/artifacts/(\d+)/zip", self._zip),
            ("GET", r"issues/(\d+)/comments", self._comments),
            ("POST", r"issues/(\d+)/comments", self._new_comment),
            ("PATCH", r"issues/comments/(\d+)", self._change_comment),
            ("POST", r"check-runs", self._new_check),
            ("PATCH", r"check-runs/(\d+)", self._change_check),
        ):
            if method == request.method and (match := re.fullmatch(pattern, path)):
                return act(request, *match.groups())
        return 404, {"message": "Not Found"}

    def _tree(self, request: Request, sha: str) -> tuple[Any, ...]:
        return (200, {"sha": sha, "tree": self.trees[sha]}) if sha in self.trees else (404, {"message": "Not Found"})

    def _pulls(self, request: Request) -> tuple[Any, ...]:
        (head,) = request.query["head"]
        return self._page(request, [each for each in self.pulls if each["head"]["label"] == head])

    def _artifacts(self, request: Request, run: str) -> tuple[Any, ...]:
        found = self.artifacts.get(int(run), [])
        return 200, {"total_count": len(found), "artifacts": found}

    def _zip(self, request: Request, number: str) -> tuple[Any, ...]:
        return 302, b"", {"Location": f"{self.url}/blob/{number}?sig=secret"}

    def _comments(self, request: Request, pull: str) -> tuple[Any, ...]:
        return self._page(request, [each for each in self.comments if each["pull"] == int(pull)])

    def _new_comment(self, request: Request, pull: str) -> tuple[Any, ...]:
        if refusal := self._refused("pull-requests", request.body["body"]):
            return refusal
        made = {"id": 1000 + len(self.comments), "pull": int(pull), "user": BOT, "body": request.body["body"]}
        self.comments.append(made)
        return 201, made

    def _change_comment(self, request: Request, number: str) -> tuple[Any, ...]:
        if refusal := self._refused("pull-requests", request.body["body"]):
            return refusal
        (known,) = [each for each in self.comments if each["id"] == int(number)]
        known["body"] = request.body["body"]
        return 200, known

    def _new_check(self, request: Request) -> tuple[Any, ...]:
        if refusal := self._refused("checks", request.body["output"]["summary"], request.body["output"]):
            return refusal
        made = {"id": 5000 + len(self.checks), **request.body}
        self.checks.append(made)
        return 201, made

    def _change_check(self, request: Request, number: str) -> tuple[Any, ...]:
        output = request.body["output"]
        if refusal := self._refused("checks", output["summary"], output):
            return refusal
        (known,) = [each for each in self.checks if each["id"] == int(number)]
        known["output"]["annotations"] += output["annotations"]
        return 200, known

    def _refused(self, permission: str, text: str, output: dict[str, Any] | None = None) -> tuple[Any, ...] | None:
        if permission not in self.permissions:
            return 403, {"message": "Resource not accessible by integration"}
        notes = (output or {}).get("annotations", [])
        wrong = [note for note in notes if len(note["message"].encode()) > 64 * 1024 or len(note["title"]) > 255]
        if len(text) > 65535 or len(notes) > 50 or wrong or (output and not output.get("title")):
            return 422, {"message": "Validation Failed"}
        return None

    def _page(self, request: Request, members: list[Any]) -> tuple[Any, ...]:
        page = int(request.query.get("page", ["1"])[0])
        size = min(self.page_size, int(request.query["per_page"][0]))
        headers = {}
        if page * size < len(members):
            query = "&".join(f"{key}={value}" for key, (value,) in request.query.items() if key != "page")
            headers["Link"] = f'<{self.url}{request.path}?{query}&page={page + 1}>; rel="next", <x>; rel="last"'
        return 200, members[(page - 1) * size : page * size], headers


def _handler(fake: FakeGitHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            request = Request(self.command, parts.path, parse_qs(parts.query), dict(self.headers), body)
            fake.requests.append(request)
            status, answer, *more = fake.answer(request)
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            for key, value in (more[0] if more else {}).items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = _serve

        def log_message(self, *arguments: object) -> None:
            """Say nothing: the requests are kept."""

    return Handler
