"""The client of GitHub's API against a server that answers like it: pages, refusals, retries, downloads, a comment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.github import publish
from grader.github.api import WAITS, ApiError, GitHub
from grader.reports.markdown import MARKER
from selftests.fake_github import BOT, REPOSITORY, TOKEN, Failure, FakeGitHub

COMMENTS = f"/repos/{REPOSITORY}/issues/7/comments"


@pytest.fixture
def server() -> Iterator[FakeGitHub]:
    with FakeGitHub() as fake:
        yield fake


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def api(server: FakeGitHub, waits: list[float]) -> GitHub:
    return GitHub(server.url, TOKEN, sleep=waits.append)


def add_comments(server: FakeGitHub, *bodies: str, login: str = "student", kind: str = "User") -> None:
    for body in bodies:
        user = {"login": login, "type": kind}
        server.comments.append({"id": 1000 + len(server.comments), "pull": 7, "user": user, "body": body})


def test_every_page_is_read(server: FakeGitHub, api: GitHub) -> None:
    server.page_size = 3
    add_comments(server, *map(str, range(8)))
    assert [each["body"] for each in api.pages(COMMENTS)] == list("01234567")
    assert len(server.requests) == 3


def test_a_page_of_another_host_is_not_followed(server: FakeGitHub, api: GitHub) -> None:
    with FakeGitHub() as other:
        for place in (other.url, f"{server.url}.example", "file:///etc/passwd"):
            server.failures = [Failure(".*", 200, headers={"Link": f'<{place}/x>; rel="next"'}, body=["first"])]
            assert list(api.pages(COMMENTS)) == ["first"]
        assert other.requests == []
    server.failures = [
        Failure(".*", 200, headers={"Link": f'<{server.url}{COMMENTS}?per_page=1>; rel="next"'}, body=["1"])
    ]
    add_comments(server, "second")
    assert len(list(api.pages(COMMENTS))) == 2


def test_pages_without_end_are_refused(server: FakeGitHub, api: GitHub) -> None:
    server.failures = [Failure(".*", 200, times=999, headers={"Link": f'<{server.url}/x>; rel="next"'}, body=[])]
    with pytest.raises(ApiError, match="more than 30 pages"):
        list(api.pages(COMMENTS))
    server.failures = [Failure(".*", 200, body={"not": "a list"})]
    with pytest.raises(ApiError, match="did not answer with a list"):
        list(api.pages(COMMENTS))
    server.failures = [Failure(".*", 200, body=b"[" * 100_000)]
    with pytest.raises(ApiError, match="did not answer with JSON"):
        list(api.pages(COMMENTS))


def test_a_server_error_is_tried_again_and_a_lasting_one_is_told(
    server: FakeGitHub, api: GitHub, waits: list[float]
) -> None:
    server.failures = [Failure(".*", 502, times=2)]
    assert list(api.pages(COMMENTS)) == []
    assert waits == list(WAITS[:2])
    server.failures = [Failure(".*", 503, times=99)]
    with pytest.raises(ApiError, match="503") as caught:
        api.get(COMMENTS)
    assert caught.value.status == 503
    assert waits == [*WAITS[:2], *WAITS]


@pytest.mark.parametrize("status", [401, 403, 404, 422])
def test_a_refusal_is_final(server: FakeGitHub, api: GitHub, waits: list[float], status: int) -> None:
    server.failures = [Failure(".*", status, times=99)]
    with pytest.raises(ApiError, match=f"{status}.*scripted") as caught:
        api.get(COMMENTS)
    assert (caught.value.status, waits, len(server.requests)) == (status, [], 1)


def test_a_rate_limit_is_waited_for_unless_it_lasts_too_long(
    server: FakeGitHub, api: GitHub, waits: list[float]
) -> None:
    server.failures = [Failure(".*", 403, headers={"Retry-After": "7"}), Failure(".*", 429)]
    assert list(api.pages(COMMENTS)) == []
    assert waits == [7.0, WAITS[1]]
    server.failures = [Failure(".*", 403, times=9, headers={"Retry-After": "3600"})]
    with pytest.raises(ApiError, match="403"):
        api.get(COMMENTS)
    assert len(waits) == 2


def test_nobody_at_the_address_is_told(waits: list[float]) -> None:
    with FakeGitHub() as gone:
        url = gone.url
    with pytest.raises(ApiError, match="could not be reached"):
        GitHub(url, TOKEN, sleep=waits.append).get(COMMENTS)
    assert waits == list(WAITS)


def test_a_download_leaves_the_token_behind_and_is_capped(server: FakeGitHub, api: GitHub) -> None:
    server.add_artifact(1, b"x" * 5000)
    path = f"/repos/{REPOSITORY}/actions/artifacts/100/zip"
    assert api.download(path, 5000) == b"x" * 5000
    asked, fetched = server.requests
    assert asked.headers["Authorization"] == f"Bearer {TOKEN}"
    assert fetched.path == "/blob/100"
    assert "Authorization" not in fetched.headers
    with pytest.raises(ApiError, match="holds more than"):
        api.download(path, 4999)


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://x.example/y", "/relative", ""])
def test_a_download_leads_to_the_web_only(server: FakeGitHub, api: GitHub, place: str) -> None:
    server.failures = [Failure(".*zip", 302, headers={"Location": place})]
    with pytest.raises(ApiError, match="did not lead to a download"):
        api.download(f"/repos/{REPOSITORY}/actions/artifacts/100/zip", 5000)


# ── One comment ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_comment_is_written_once_and_updated_after_that(server: FakeGitHub, api: GitHub) -> None:
    server.page_size = 2
    add_comments(server, "first!", "hello", "me too")
    for body in ("one", "two", "three"):
        publish.write_comment(api, REPOSITORY, 7, f"{MARKER}\n{body}")
    ours = [each for each in server.comments if each["user"] == BOT]
    assert [each["body"] for each in ours] == [f"{MARKER}\nthree"]
    assert len(server.sent("POST", ".*")) == 1


def test_a_comment_of_somebody_else_is_never_touched(server: FakeGitHub, api: GitHub) -> None:
    """Whoever writes the marker into a comment of their own, or quotes ours, keeps that comment as it is."""
    add_comments(server, f"{MARKER}\nmine", f"> {MARKER}")
    add_comments(server, f"{MARKER}\nother bot", login="helper[bot]", kind="Bot")
    add_comments(server, f"{MARKER}\nan impostor", login="github-actions[bot]", kind="User")
    server.comments.append({"id": 1, "pull": 7, "user": None, "body": MARKER})
    before = [dict(each) for each in server.comments]
    publish.write_comment(api, REPOSITORY, 7, f"{MARKER}\nours")
    assert server.comments[: len(before)] == before
    assert server.comments[-1]["body"] == f"{MARKER}\nours"


@pytest.mark.parametrize("after", [False, True])
def test_a_creation_that_broke_down_leaves_one_comment(server: FakeGitHub, api: GitHub, after: bool) -> None:
    server.failures = [Failure(rf"POST {COMMENTS}", 502, after=after)]
    publish.write_comment(api, REPOSITORY, 7, f"{MARKER}\nours")
    assert [each["body"] for each in server.comments] == [f"{MARKER}\nours"]


def test_a_token_that_may_only_read_is_told_once(server: FakeGitHub, api: GitHub) -> None:
    server.permissions = set()
    with pytest.raises(ApiError, match="may only read"):
        publish.write_comment(api, REPOSITORY, 7, f"{MARKER}\nours")
    assert len(server.sent("POST", ".*")) == 1
