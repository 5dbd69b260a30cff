"""Verdicts by what came back: equal to those of tests that run, given once, and never from trouble of the grader's."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile

import pytest

from grader import behaviours, session, worker
from grader.job import Job
from grader.results import SubmissionResult
from grader.session import GradingSession, run_session
from grader.wire import Frame, Inbox, Kind, WireError, decode_call, decode_fault, decode_reply, encode_call
from nanolm.execution import Executor
from nanolm.protocol import Call, Outcome, Reply, StudentFault
from nanolm.sources import TextSource
from nanolm.verdict import Verdict
from selftests.test_session import FULL, SETTINGS, Bench, banked, job, own_pytest_inside_this_one

__all__ = ["own_pytest_inside_this_one"]

Before = Callable[[int, Call], None]


@dataclass
class Asked:
    """Backends that tell their frames, without processes behind them; what goes wrong before a call."""

    before: Before = lambda number, call: None
    asked: list[int] = field(default_factory=list)

    def make(self, texts: Mapping[str, str]) -> FakeWorker:
        source = TextSource(texts)
        source.install()
        self.asked.append(0)
        return FakeWorker(self, Executor(source))


class FakeWorker:
    name = "fake worker"

    def __init__(self, bench: Asked, executor: Executor) -> None:
        self._bench, self._executor, self._number = bench, executor, len(bench.asked) - 1

    def ask(self, frame: bytes) -> Frame:
        asked = whole(frame)
        self._bench.asked[self._number] += 1
        self._bench.before(self._number, decode_call(asked))
        return whole(worker.answer(self._executor, decode_call(asked), 1))

    def read(self, frame: Frame, call: Call) -> Reply:
        if frame.kind is Kind.FAULT:
            raise decode_fault(frame)
        return decode_reply(frame, call)

    def run(self, call: Call) -> Reply:
        frame = encode_call(call, 0)
        return self.read(self.ask(frame), call)

    def start_test(self, cpu_seconds: float = 0) -> None: ...

    def end(self) -> None: ...


def whole(data: bytes) -> Frame:
    inbox = Inbox()
    frame = None
    while data:
        wanted = inbox.wanted
        frame, data = inbox.feed(data[:wanted]), data[wanted:]
    assert frame is not None
    return frame


def plain(result: SubmissionResult) -> list[Verdict]:
    return [replace(verdict, seconds=0.0) for verdict in result.verdicts]


def graded(bench: Asked, *jobs: Job) -> tuple[list[SubmissionResult], list[str]]:
    """Results, and `submission test` for every verdict that was told."""
    results: list[SubmissionResult] = []
    told: list[str] = []
    run_session(
        SETTINGS, jobs, bench.make, results.append, lambda job, verdict, seed: told.append(f"{job.name} {verdict.test}")
    )
    return results, told


SEVERAL = ("rejected/rmsnorm/centering", "rejected/rmsnorm/missing-eps", "rejected/swiglu/gelu-gate")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of every test that was run, and where a submission begins its own name."""
    seen: list[str] = []
    run, grade = session._run_test, GradingSession._grade

    def counted(item: pytest.Item, following: pytest.Item | None) -> None:
        seen.append(item.name)
        run(item, following)

    def begun(self: GradingSession, tests: pytest.Session, job: Job) -> SubmissionResult:
        seen.append(f"# {job.name}")
        return grade(self, tests, job)

    monkeypatch.setattr(session, "_run_test", counted)
    monkeypatch.setattr(GradingSession, "_grade", begun)
    return seen


def run_of(runs: list[str], name: str) -> list[str]:
    """The tests that were run of one submission."""
    after = runs[runs.index(f"# {name}") + 1 :]
    return list(takewhile(lambda entry: not entry.startswith("# "), after))


def test_who_answers_alike_gets_the_same_without_a_test_being_run(runs: list[str]) -> None:
    first, second = ([replace(banked(name), name=f"{turn} {name}") for name in SEVERAL] for turn in "ab")
    results, told = graded(Asked(), *first, *second)
    alone = Bench().grade(*first)
    half = len(first)
    assert [plain(result) for result in results] == 2 * [plain(result) for result in alone]
    assert [run_of(runs, job.name) for job in second] == [[], [], []]
    assert len(told) == len(set(told)) == sum(len(result.verdicts) for result in results)
    assert all(verdict.seconds < 1 for verdict in results[half].verdicts)


def test_only_tests_that_are_answered_in_a_new_way_are_run(runs: list[str]) -> None:
    known, mistaken = job("known"), replace(banked("rejected/rmsnorm/missing-eps"), name="mistaken")
    results, _ = graded(Asked(), known, mistaken)
    (alone,) = Bench().grade(mistaken)
    assert plain(results[1]) == plain(alone)
    ran, tests = run_of(runs, "mistaken"), run_of(runs, "known")
    failed = [verdict.test.rpartition("::")[2] for verdict in results[1].verdicts if verdict.score < verdict.max_score]
    assert set(failed) <= set(ran) < set(tests)
    assert not [test for test in ran if "swiglu" in test]


def test_nobody_is_asked_the_same_twice(runs: list[str]) -> None:
    bench = Asked()
    known = job("known")
    other = banked(SEVERAL[0])
    results, _ = graded(bench, known, replace(other, name="other"), replace(known, name="again"))
    assert [result.score for result in results] == [FULL, results[1].score, FULL]
    assert results[1].score < FULL
    assert run_of(runs, "other")
    assert not run_of(runs, "again")
    calls: list[Call] = []
    alone = Bench(lambda number, call: calls.append(call))
    alone.grade(other)
    assert bench.asked[1] == len(calls)
    assert bench.asked[0] == bench.asked[2]


def hanging_once(entry: str) -> Before:
    def before(number: int, call: Call) -> None:
        if number == 0 and call.entry == entry:
            raise StudentFault(Outcome.TIMEOUT, "too slow")

    return before


def test_a_time_out_is_no_answer_to_learn_from(runs: list[str]) -> None:
    results, told = graded(Asked(hanging_once("rms_norm")), job("slow"), job("quick"), job("quicker"))
    # The first one's time-outs are tried again, by a backend of their own, and end in time.
    assert [result.score for result in results] == [FULL, FULL, FULL]
    assert run_of(runs, "quick")
    assert not run_of(runs, "quicker")
    assert len(told) == len(set(told))


def test_a_time_out_on_the_way_down_the_tree_costs_its_exercise_what_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for before the test runs, which then takes no time."""
    given: list[float] = []

    def hang(number: int, call: Call) -> None:
        if number == 1 and call.entry == "rms_norm":
            time.sleep(0.8)
            raise StudentFault(Outcome.TIMEOUT, "too slow")

    class Watched(Asked):
        def make(self, texts: Mapping[str, str]) -> FakeWorker:
            inner = super().make(texts)
            if len(self.asked) == 2:
                inner.start_test = given.append  # type: ignore[method-assign, assignment]
            return inner

    monkeypatch.setattr(session, "EXERCISE_SECONDS", 2.0)
    graded(Watched(hang), job("known"), job("hangs in its company"))
    assert given[0] == 2.0
    assert next(left for left in given if left < 2.0) <= 1.2


def test_a_file_that_could_not_be_read_teaches_nothing() -> None:
    unreadable = job("unreadable", problems={"modules.py": "it cannot be read"})
    results, _ = graded(Asked(), unreadable, job("right"))
    assert [result.score for result in results] == [0.0, FULL]


def test_trouble_of_ours_is_nothing_to_learn_from() -> None:
    def before(number: int, call: Call) -> None:
        if number in (0, 1) and call.entry == "swiglu":
            raise StudentFault(Outcome.INFRASTRUCTURE, "the machinery failed")

    results, _ = graded(Asked(before), job("unlucky"), job("lucky"))
    assert results[0].ungradable is not None
    assert (results[1].ungradable, results[1].score) == (None, FULL)


def test_a_full_tree_begins_anew(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behaviours, "MAX_BYTES", 10)
    results, _ = graded(Asked(), *(job(f"number {number}") for number in range(3)))
    assert [result.score for result in results] == 3 * [FULL]
    whole, *later = (run_of(runs, f"number {number}") for number in range(3))
    assert later == [whole, whole]  # the trees are full with one test, and are cleared by the next to learn


def test_a_file_that_is_not_there_is_not_walked(runs: list[str]) -> None:
    results, _ = graded(Asked(), job("whole"), job("absent", None), job("whole again"))
    assert [result.score for result in results] == [FULL, 0.0, FULL]
    assert run_of(runs, "absent") == run_of(runs, "whole")
    assert run_of(runs, "whole again") == []
    assert {verdict.outcome for verdict in results[1].verdicts} == {Outcome.NOT_ATTEMPTED}


# --- hostile replies -------------------------------------------------------------------------------------------------

LIES: Mapping[str, Callable[[int, Frame, list[Frame]], Frame]] = {
    "honest": lambda count, frame, before: frame,
    "the last reply again": lambda count, frame, before: before[-1] if count == 9 else frame,
    "an old reply for ever": lambda count, frame, before: before[0] if count > 5 else frame,
    "forbidden in the middle": lambda count, frame, before: fault(frame, Outcome.FORBIDDEN) if count == 12 else frame,
    "what a worker may not say": lambda count, frame, before: fault(frame, Outcome.PASSED) if count == 7 else frame,
    "no JSON": lambda count, frame, before: replace(frame, json=b"{") if count in (3, 20) else frame,
    "no arrays": lambda count, frame, before: replace(frame, arrays=b"") if count == 15 else frame,
    "arrays behind JSON": lambda count, frame, before: (
        replace(frame, json=frame.json + frame.arrays, arrays=b"") if count == 4 else frame
    ),
    "another note": lambda count, frame, before: (
        replace(frame, json=frame.json.replace(b'"notes":[', b'"notes":["x"')) if count == 2 else frame
    ),
    "every other call": lambda count, frame, before: before[-1] if count % 2 and before else frame,
}
"""What a worker's owner can do to its replies, by how many came before: on time, on a count, on what came earlier."""


def fault(frame: Frame, outcome: Outcome) -> Frame:
    body = {"outcome": outcome.value, "message": "so it says", "kind": "", "bases": [], "place": None, "notes": []}
    return Frame(Kind.FAULT, frame.sequence, json.dumps(body).encode(), b"")


class Lying(Asked):
    """Backends of a class in which each submission lies in a way of its own, which a comment in it names."""

    def make(self, texts: Mapping[str, str]) -> FakeWorker:
        inner = super().make(texts)
        way = LIES[texts["modules.py"].partition("# way: ")[2].strip() or "honest"]
        before: list[Frame] = []
        ask, read = inner.ask, inner.read

        def lying(frame: bytes) -> Frame:
            answer = way(len(before), ask(frame), before)
            before.append(answer)
            return answer

        def reading(frame: Frame, call: Call) -> Reply:
            try:
                return read(frame, call)
            except WireError as error:
                raise StudentFault(Outcome.CRASHED, f"its reply could not be read: {error}") from None

        inner.ask, inner.read = lying, reading  # type: ignore[method-assign]
        return inner


def liar(name: str, way: str) -> Job:
    honest = job(name)
    return replace(honest, texts={file: f"{text}\n# way: {way}\n" for file, text in honest.texts.items()})


def test_no_submission_changes_the_verdict_of_another() -> None:
    """Whoever comes before: each gets what it gets alone, and the second of a kind what the first one got."""
    ways = list(LIES)
    order = [*ways[1:], "honest", *reversed(ways)]
    together, _ = graded(Lying(), *(liar(f"{place} {way}", way) for place, way in enumerate(order)))
    alone = {way: plain(graded(Lying(), liar(way, way))[0][0]) for way in ways}
    for way, result in zip(order, together, strict=True):
        assert plain(result) == alone[way], way
    scores = {way: sum(verdict.score for verdict in verdicts) for way, verdicts in alone.items()}
    assert scores["honest"] == FULL
    assert all(score < FULL for way, score in scores.items() if way not in ("honest", "another note"))
