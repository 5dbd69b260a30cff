"""A small client of GitHub's REST API: JSON, pages, retries, and a download that does not pass the token on."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPException
from typing import IO, Any

from nanolm.untrusted import printable

TIMEOUT_SECONDS = 30.0
MAX_ANSWER_BYTES = 16 * 1024 * 1024
MAX_PAGES = 30
API_VERSION = "2022-11-28"
WAITS = (1.0, 3.0, 9.0)
"""Seconds before each further try."""
LONGEST_WAIT = 60.0
"""A rate limit that lasts longer than this is not waited for."""


class ApiError(RuntimeError):
    """GitHub refused a request or could not be reached; the text says which request, and what to do where we know."""

    def __init__(self, what: str, status: int = 0, told: str = "") -> None:
        self.status = status
        hint = HINTS.get(status, "")
        super().__init__(" ".join(filter(None, [what, f"({printable(told, 200)})" if told else "", hint])))


HINTS = {
    401: "Is GITHUB_TOKEN set to the job's token?",
    403: "The token may only read: a fork's run cannot write, and a workflow writes only with `permissions` for it.",
    404: "The token may not see it, or it is gone.",
}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Gives a redirect back as it is: urllib would send our token along to whatever host it names."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """No request follows."""


@dataclass(frozen=True)
class Answer:
    """Status, headers and body of one response."""

    status: int
    headers: Message
    body: bytes


class GitHub:
    """Requests with one job's token; `url` is GITHUB_API_URL, without a slash at its end."""

    def __init__(self, url: str, token: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._sleep = sleep
        self._opener = urllib.request.build_opener(_NoRedirect)

    def get(self, path: str) -> Any:
        """The decoded JSON at a path. Raises ApiError."""
        return self._decoded(self._tried("GET", self._url + path), path)

    def send(self, method: str, path: str, body: Mapping[str, Any], *, retry: bool = True) -> Any:
        """POST or PATCH. Without `retry` only a refusal for too many requests is tried again. Raises ApiError."""
        data = json.dumps(body).encode()
        return self._decoded(self._tried(method, self._url + path, data, retry=retry), path)

    def pages(self, path: str) -> Iterator[Any]:
        """The members of a list, page after page; no page of another host is followed. Raises ApiError."""
        url: str | None = f"{self._url}{path}{'&' if '?' in path else '?'}per_page=100"
        for _ in range(MAX_PAGES):
            if url is None:
                return
            answer = self._tried("GET", url)
            page = self._decoded(answer, path)
            if not isinstance(page, list):
                raise ApiError(f"GET {path} did not answer with a list.")
            yield from page
            following = re.search(r'<([^<>]+)>\s*;\s*rel="next"', answer.headers.get("Link", ""))
            url = following[1] if following and following[1].startswith(f"{self._url}/") else None
        raise ApiError(f"GET {path} has more than {MAX_PAGES} pages.")

    def download(self, path: str, limit: int) -> bytes:
        """The bytes that a path redirects to, at most `limit`; the token stays behind. Raises ApiError."""
        answer = self._tried("GET", self._url + path, limit=limit)
        if answer.status == 200:
            return answer.body
        place = answer.headers.get("Location", "")
        if urllib.parse.urlsplit(place).scheme != urllib.parse.urlsplit(self._url).scheme:
            raise ApiError(f"GET {path} did not lead to a download.")
        return self._tried("GET", place, limit=limit, token=False).body

    def _tried(
        self,
        method: str,
        url: str,
        data: bytes | None = None,
        *,
        retry: bool = True,
        limit: int = MAX_ANSWER_BYTES,
        token: bool = True,
    ) -> Answer:
        shown = printable(urllib.parse.urlsplit(url).path, 200)
        for wait in (*WAITS, None):
            try:
                answer = self._once(method, url, data, limit=limit, token=token)
            except (OSError, HTTPException) as error:
                if wait is None or not retry:
                    raise ApiError(f"{method} {shown}: GitHub could not be reached.", told=str(error)) from None
                self._sleep(wait)
                continue
            if len(answer.body) > limit:
                raise ApiError(f"{method} {shown} holds more than {limit >> 20} MiB.")
            if answer.status < 400:
                return answer
            wait = _wait(answer, wait, retry=retry)
            if wait is None:
                raise ApiError(f"{method} {shown} was refused: {answer.status}.", answer.status, _message(answer.body))
            self._sleep(wait)
        raise AssertionError("the last try has no wait")

    def _once(self, method: str, url: str, data: bytes | None, *, limit: int, token: bool) -> Answer:
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": API_VERSION, "User-Agent": "nanolm"}
        if token:
            headers["Authorization"] = f"Bearer {self._token}"
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                return Answer(response.status, response.headers, response.read(limit + 1))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read(limit + 1))

    @staticmethod
    def _decoded(answer: Answer, path: str) -> Any:
        try:
            return json.loads(answer.body) if answer.body else None
        except (ValueError, RecursionError):
            raise ApiError(f"{path} did not answer with JSON.", answer.status) from None


def _wait(answer: Answer, wait: float | None, *, retry: bool) -> float | None:
    """Seconds until the next try, or None: refusals are final, rate limits and server errors pass."""
    if wait is None:
        return None
    after = answer.headers.get("Retry-After", "")
    if answer.status in (403, 429):
        limited = answer.status == 429 or bool(after) or answer.headers.get("X-RateLimit-Remaining") == "0"
        seconds = max(wait, float(after)) if after.isdecimal() else wait
        return seconds if limited and seconds <= LONGEST_WAIT else None
    return wait if answer.status >= 500 and retry else None


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
