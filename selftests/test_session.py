"""Grading sessions: retries, time-outs, jobs that do not touch one another, secret inputs."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

from grader import session
from grader.bank import given, read_bank
from grader.job import EXERCISE_SECONDS, Job
from grader.results import SubmissionResult, submission_data
from grader.session import Settings, run_session
from nanolm import diagnosis
from nanolm.execution import Executor
from nanolm.implementation import Implementation
from nanolm.protocol import Call, Outcome, Reply, StudentFault
from nanolm.sources import TextSource
from nanolm.texts import text
from nanolm.verdict import Verdict

ROOT = Path(__file__).resolve().parent.parent
EXERCISES = ("rmsnorm", "swiglu")
SETTINGS = Settings(ROOT, EXERCISES, round="self-test", secret=b"a secret")
FULL = 26.0
REFERENCE = (ROOT / "solutions" / "modules.py").read_text(encoding="utf-8")
BANK = {member.name: member for member in read_bank(ROOT)}
WORKED_EXAMPLE = "tests/test_modules.py::test_rmsnorm_worked_example"


def job(name: str, modules: str | None = REFERENCE, **more: object) -> Job:
    texts = given(ROOT) if modules is None else given(ROOT) | {"modules.py": modules}
    return Job(name, texts, **more)  # type: ignore[arg-type]


def banked(name: str) -> Job:
    """A specimen with everything else as in the reference, as a whole submission."""
    member = BANK[name]
    return job(name, REFERENCE + "\n\n" + member.text.replace("from __future__ import annotations\n", ""))


Before = Callable[[int, Call], None]


@dataclass
class Bench:
    """Backends without workers: what they were asked for, and what goes wrong before a call."""

    before: Before = lambda number, call: None
    made: int = 0
    budgets: list[float] = field(default_factory=list)
    calls: list[list[Call]] = field(default_factory=list)

    def make(self, texts: Mapping[str, str]) -> Fake:
        source = TextSource(texts)
        source.install()
        self.made += 1
        self.calls.append([])
        return Fake(self, self.made, Executor(source))

    def grade(self, *jobs: Job, settings: Settings = SETTINGS) -> list[SubmissionResult]:
        results: list[SubmissionResult] = []
        run_session(settings, jobs, self.make, results.append)
        return results


class Fake:
    name = "fake"

    def __init__(self, bench: Bench, number: int, executor: Executor) -> None:
        self._bench, self._number, self._executor = bench, number, executor

    def run(self, call: Call) -> Reply:
        self._bench.calls[-1].append(call)
        self._bench.before(self._number, call)
        return self._executor.execute(call)

    def start_test(self, cpu_seconds: float = 0) -> None:
        self._bench.budgets.append(cpu_seconds)

    def end(self) -> None: ...


@pytest.fixture(autouse=True)
def own_pytest_inside_this_one() -> Iterator[None]:
    """A session changes the environment, hypothesis's profile and `exercises`: afterwards all is as it was."""
    environment = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(environment)
    hypothesis_settings.load_profile("nanolm-local")
    TextSource({}).uninstall()


def failing(outcome: Outcome, *entries: str, backends: Sequence[int] = range(1, 100)) -> Before:
    def before(number: int, call: Call) -> None:
        if call.entry in entries and number in backends:
            raise StudentFault(outcome, "the machinery failed")

    return before


def by_test(result: SubmissionResult) -> dict[str, Verdict]:
    return {verdict.test.rpartition("::")[2]: verdict for verdict in result.verdicts}


# --- infrastructure --------------------------------------------------------------------------------------------------


def test_infrastructure_is_tried_once_more_and_only_where_it_failed() -> None:
    bench = Bench(failing(Outcome.INFRASTRUCTURE, "rms_norm_fresh", backends=[1]))
    (result,) = bench.grade(job("unlucky"))
    assert result.ungradable is None
    assert result.score == FULL
    assert bench.made == 2
    assert {call.entry for call in bench.calls[1]} == {"rms_norm_fresh"}


def test_infrastructure_that_stays_is_no_grade_and_no_zero() -> None:
    bench = Bench(failing(Outcome.INFRASTRUCTURE, "swiglu_fresh"))
    unlucky, next_one = bench.grade(job("unlucky"), job("next", modules=None))
    assert bench.made == 3
    assert unlucky.ungradable == "grading failed twice on our side, not on the student's: the machinery failed"
    data = submission_data(unlucky)
    assert (data["status"], data["exercises"], data["max_score"]) == ("ungradable", [], FULL)
    assert next_one.ungradable is None


def test_a_test_that_leaves_no_verdict_is_infrastructure_and_earns_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    real, bench = session.verdict_of, Bench()

    def forgetful(report: pytest.TestReport) -> Verdict | None:
        return None if report.nodeid == WORKED_EXAMPLE and bench.made > 1 else real(report)

    monkeypatch.setattr(session, "verdict_of", forgetful)
    before, result = bench.grade(job("before"), job("silent"))
    assert before.score == FULL
    verdict = by_test(result)["test_rmsnorm_worked_example"]
    assert (verdict.outcome, verdict.score, verdict.max_score) == (Outcome.INFRASTRUCTURE, 0.0, 0.5)
    assert str(result.ungradable).endswith("the test left no verdict")
    assert sum(verdict.max_score for verdict in result.verdicts) == result.max_score == FULL


def test_a_verdict_missing_once_is_found_by_the_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    real, lost = session.verdict_of, [WORKED_EXAMPLE]

    def forgetful(report: pytest.TestReport) -> Verdict | None:
        if report.nodeid in lost and report.when == "call":
            lost.remove(report.nodeid)
            return None
        return real(report)

    monkeypatch.setattr(session, "verdict_of", forgetful)
    (result,) = Bench().grade(job("silent"))
    assert (result.ungradable, result.score) == (None, FULL)


def test_what_an_exercise_has_lost_is_taken_from_its_later_tests_but_a_little_is_always_left() -> None:
    bench = Bench(failing(Outcome.TIMEOUT, "rms_norm"))
    (result,) = bench.grade(job("endless"))
    tests = sum(verdict.exercise == "rmsnorm" for verdict in result.verdicts)
    of_rmsnorm, of_swiglu = bench.budgets[:tests], bench.budgets[tests:-1]
    assert of_rmsnorm[0] == EXERCISE_SECONDS
    assert of_rmsnorm == sorted(of_rmsnorm, reverse=True)
    assert of_rmsnorm[-1] == session.LEAST_SECONDS
    assert set(of_swiglu) == {bench.budgets[-1]} == {EXERCISE_SECONDS}  # the last is the second try, alone


def test_what_has_run_into_a_time_out_is_not_called_for_ever() -> None:
    bench = Bench(failing(Outcome.TIMEOUT, "rms_norm"))
    (result,) = bench.grade(job("endless"))
    calls, second_try = bench.calls
    # A time-out that costs no time counts for a tenth of what an exercise may lose.
    assert sum(call.entry == "rms_norm" for call in calls) == 10
    assert len(second_try) == 1
    verdicts = by_test(result)
    assert verdicts["test_rmsnorm_has_only_gamma"].outcome is Outcome.PASSED
    last = verdicts["test_rmsnorm_law_of_scale"]
    assert last.outcome is Outcome.TIMEOUT
    assert f"not run: this exercise has used up its {EXERCISE_SECONDS:g} s" in last.message
    assert result.score == 1.0 + 12.0


def test_a_few_milliseconds_that_are_left_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "EXERCISE_SECONDS", 1.0)
    monkeypatch.setattr(session, "LEAST_SECONDS", 0.1)

    def a_tick_early(number: int, call: Call) -> None:
        if call.entry == "rms_norm":
            time.sleep(min(0.4, bench.budgets[-1]) - 0.01)
            raise StudentFault(Outcome.TIMEOUT, "it took too long")

    bench = Bench(a_tick_early)
    bench.grade(job("endless"))
    assert sum(call.entry == "rms_norm" for call in bench.calls[0]) == 3


def test_the_probes_run_once_an_exercise_at_its_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def counted(implementation: Implementation, exercise: str) -> dict[str, diagnosis.Observation]:
        seen.append(exercise)
        return observe(implementation, exercise)

    observe = diagnosis.observe
    monkeypatch.setattr(diagnosis, "observe", counted)
    (result,) = Bench().grade(banked("rejected/rmsnorm/centering"))
    assert sum(bool(verdict.mistakes) for verdict in result.verdicts) > 1
    assert seen == ["rmsnorm"]


def test_a_machine_that_was_slow_for_a_while_costs_nobody_a_mark() -> None:
    bench = Bench(failing(Outcome.TIMEOUT, "rms_norm", backends=[1]))
    seen: list[Verdict] = []
    results: list[SubmissionResult] = []
    run_session(SETTINGS, [job("unlucky")], bench.make, results.append, lambda job, verdict, seed: seen.append(verdict))
    assert results[0].score == FULL
    assert bench.made == 3  # all at first, the first time-out alone, then the others
    assert len(seen) == len({verdict.test for verdict in seen}) == len(results[0].verdicts)
    assert {verdict.outcome for verdict in seen} == {Outcome.PASSED, Outcome.NOT_RUN_HERE}


def test_a_time_out_stands_after_the_second_try_and_is_told_once() -> None:
    seen: list[Verdict] = []
    bench = Bench(failing(Outcome.TIMEOUT, "swiglu_fresh"))
    run_session(
        SETTINGS, [job("slow")], bench.make, lambda result: None, lambda job, verdict, seed: seen.append(verdict)
    )
    assert len(seen) == len({verdict.test for verdict in seen})
    assert Outcome.TIMEOUT in {verdict.outcome for verdict in seen}


# --- jobs one after another ------------------------------------------------------------------------------------------


def test_jobs_leave_nothing_to_one_another() -> None:
    centering, twice, relu = "rejected/rmsnorm/centering", "rejected/rmsnorm/gamma-twice", "rejected/swiglu/relu-gate"
    scale = "accepted/rmsnorm/named-scale"
    names = [centering, scale, relu, "reference", twice, centering, "nothing", scale, "reference"]
    makers = {"reference": job("reference"), "nothing": job("nothing", modules=None)}
    results = Bench().grade(*(makers.get(name) or banked(name) for name in names))
    assert [result.name for result in results] == names
    summaries: dict[str, list[object]] = {}
    for result in results:
        summary = [(v.test, v.outcome, v.score, v.message, v.mistakes, v.notes) for v in result.verdicts]
        summaries.setdefault(result.name, []).append(summary)
    for name in (centering, scale, "reference"):
        assert summaries[name][0] == summaries[name][1]
    by_name = {result.name: result for result in results}
    causes = {name: [cause.id for cause in result.root_causes] for name, result in by_name.items()}
    assert causes.pop(centering) == ["rmsnorm-centering"]
    assert causes.pop(twice) == ["rmsnorm-gamma-twice"]
    assert causes.pop(relu) == ["swiglu-relu-gate"]
    assert set(map(tuple, causes.values())) == {()}
    assert by_name["reference"].score == FULL
    assert by_name["nothing"].score == 0
    notes = {v.exercise for v in by_name[scale].verdicts if v.notes}
    assert notes == {"rmsnorm"}
    others = [result for result in results if not result.name.startswith("accepted")]
    assert not any(verdict.notes for result in others for verdict in result.verdicts)


def test_a_job_may_ask_for_some_exercises_bring_problems_or_be_hopeless() -> None:
    jobs = [
        job("part", exercises=("swiglu",)),
        job("unreadable", modules=None, problems={"modules.py": "it is not UTF-8"}),
        job("absent", modules=None),
        job("hopeless", ungradable="there is nothing in it"),
    ]
    bench = Bench()
    part, unreadable, absent, hopeless = bench.grade(*jobs)
    assert {verdict.exercise for verdict in part.verdicts} == {"swiglu"}
    assert part.score == part.max_score == 12.0
    assert {verdict.outcome for verdict in unreadable.verdicts} == {Outcome.EXCEPTION}
    assert all("it is not UTF-8" in verdict.message for verdict in unreadable.verdicts)
    assert {verdict.outcome for verdict in absent.verdicts} == {Outcome.NOT_ATTEMPTED}
    assert (hopeless.ungradable, hopeless.verdicts, hopeless.max_score) == ("there is nothing in it", (), FULL)
    assert [result.score for result in (unreadable, absent, hopeless)] == [0, 0, 0]
    assert bench.calls[1:] == [[], []]  # nothing was run for the second and the third, and no backend for the last


# --- inputs ----------------------------------------------------------------------------------------------------------


def fingerprint(call: Call) -> str:
    parts = [(name, tensor.shape, tensor.double().numpy().tobytes()) for name, tensor in sorted(call.tensors.items())]
    return hashlib.sha256(repr((call.entry, parts, dict(call.scalars))).encode()).hexdigest()


def test_the_key_depends_on_round_and_secret() -> None:
    keys = [Settings(ROOT, round=name, secret=secret).key for name in ("one", "two") for secret in (b"", b"x", b"y")]
    assert len(set(keys)) == 6
    assert {len(key) for key in keys} == {32}
    assert Settings(ROOT, round="one", secret=b"x").key == Settings(ROOT, EXERCISES, round="one", secret=b"x").key


def test_inputs_are_the_same_for_everybody_in_a_round_and_other_ones_in_the_next() -> None:
    bench = Bench()
    bench.grade(job("alice"), job("bob"))
    first = [fingerprint(call) for call in bench.calls[0]]
    assert first == [fingerprint(call) for call in bench.calls[1]]
    shares = []
    for settings in (
        Settings(ROOT, EXERCISES, round="another", secret=b"a secret"),
        Settings(ROOT, EXERCISES, round="self-test", secret=b"another secret"),
    ):
        again = Bench()
        again.grade(job("carol"), settings=settings)
        later = [fingerprint(call) for call in again.calls[0]]
        # Worked numbers stay what they are; whatever is drawn is drawn anew.
        shares.append(len(set(first) & set(later)) / len(set(first)))
        assert {call.entry for call in again.calls[0]} == {call.entry for call in bench.calls[0]}
    assert all(0.05 < share < 0.5 for share in shares), shares


def numbers(call: Call) -> set[str]:
    """Every number of a call's tensors as messages write it, the short ones left out, which may stand there anyway."""
    found = set()
    for tensor in call.tensors.values():
        found |= {f"{value:.6g}".lstrip("-") for value in tensor.double().flatten().tolist()}
    return {number for number in found if len(number) >= 6}


@pytest.mark.parametrize("name", ["rejected/rmsnorm/sum-not-mean", "rejected/swiglu/sum-not-product"])
def test_messages_show_the_witness_and_never_a_drawn_number(name: str) -> None:
    bench = Bench()
    (result,) = bench.grade(banked(name))
    failed = [verdict for verdict in result.verdicts if verdict.outcome is not Outcome.PASSED]
    hidden = text("checks", "numbers_hidden")
    secret = [verdict for verdict in failed if hidden in verdict.message]
    open_ones = [verdict for verdict in failed if hidden not in verdict.message]
    assert len(secret) >= 3
    drawn = set[str]().union(*map(numbers, bench.calls[0]))
    assert len(drawn) > 100
    for verdict in secret:
        assert not re.search(r"\d\.\d{3}", verdict.message), verdict.message
        assert not any(number in verdict.message for number in drawn)
    worked = [verdict for verdict in open_ones if "worked" in verdict.test]
    assert len(worked) == 1
    assert re.search(r"\d\.\d{3}", worked[0].message)
