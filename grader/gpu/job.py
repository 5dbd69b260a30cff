"""The GPU job: every submission in a process of its own on the device, verdicts as they come, and one JSON file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch

from grader.circumstances import circumstances, described
from grader.gpu.backend import GpuBackend
from grader.gpu.merge import SCHEMA
from grader.gpu.session import GpuSession, is_gpu_test
from grader.job import Job
from grader.results import SubmissionResult
from grader.sandbox import Level
from grader.session import Settings, run_plugin
from nanolm.protocol import Fact, Outcome, StudentFault
from nanolm.untrusted import printable
from nanolm.verdict import Verdict

MINUTES = 9.0
"""What a job may take, so that its start and its report fit into ten."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What to run where. `only_gpu` leaves out the ordinary tests, which any machine can run."""

    settings: Settings
    device: str = "cuda"
    minutes: float = MINUTES
    only_gpu: bool = False
    bandwidth: bool = True
    tests: tuple[str, ...] = ()
    """Only tests whose name holds one of these words."""

    def wants(self, item: pytest.Item) -> bool:
        """Whether a collected test belongs to the job."""
        named = not self.tests or any(word in item.name for word in self.tests)
        return named and (is_gpu_test(item) or not self.only_gpu)


NOTHING = SubmissionResult("", (), 0.0)


@dataclass
class Graded:
    """One submission on the device: its result, the seeds of its tests, and what starting its process took."""

    job: Job
    result: SubmissionResult = NOTHING
    seeds: dict[str, int] = field(default_factory=dict)
    warm_up_seconds: float = 0.0
    bandwidth: list[dict[str, Fact]] | str = ""


def device_problem(device: str) -> str | None:
    """Why nothing can run on a device, or None."""
    kind = device.partition(":")[0]
    if kind == "cpu":
        return None
    if kind != "cuda":
        return f"--device {printable(device, 40)!r}: available are cuda, cuda:N and cpu (a rehearsal)"
    if not torch.cuda.is_available():
        return (
            "PyTorch sees no CUDA device here, so the GPU tests stay not_run_here. "
            "`nanolm gpu --device cpu` rehearses the job; `nanolm gpu --bundle FILE` makes one for another machine."
        )
    return None


def device_name(device: str) -> str:
    """What verdicts are filed under: `cuda:NVIDIA H200`, or `cpu:rehearsal`, which no ledger takes."""
    return f"cuda:{torch.cuda.get_device_name(device)}" if device.startswith("cuda") else "cpu:rehearsal"


def machine(device: str) -> str:
    """Versions and device in words."""
    cuda = f", CUDA {torch.version.cuda}" if torch.version.cuda else ""
    return f"{described()}{cuda}; {device_name(device)}"


def run_job(jobs: Sequence[Job], plan: Plan, say: Say = lambda line: None) -> dict[str, Any]:
    """Run everything; returns the JSON data. Raises CannotStart."""
    start = time.monotonic()
    until = start + plan.minutes * 60
    graded = _graded(jobs, plan, until, say)
    at = circumstances(plan.settings)
    return {
        "schema": SCHEMA,
        "device": device_name(plan.device),
        "machine": machine(plan.device),
        "bundle": at.bundle,
        "environment": at.environment,
        "round": at.round,
        "isolation": Level.WEAK.value,
        "seconds": {
            "total": round(time.monotonic() - start, 2),
            "warm_up": round(sum(one.warm_up_seconds for one in graded), 2),
            "compiled_tests": round(_seconds(graded, "_one_graph"), 2),
        },
        "bandwidth": [{"submission": one.job.name, "rows": one.bandwidth} for one in graded if one.bandwidth],
        "submissions": [_submission(one) for one in graded],
    }


def _seconds(graded: Sequence[Graded], word: str) -> float:
    return sum(v.seconds for one in graded for v in one.result.verdicts if word in v.test)


def _graded(jobs: Sequence[Job], plan: Plan, until: float, say: Say) -> list[Graded]:
    """Every submission in turn, in one session: the tests are collected once."""
    graded: list[Graded] = []
    backends: list[GpuBackend] = []
    collected = 0

    def announced() -> Iterator[Job]:
        for job in jobs:
            say(f"── {printable(job.name)}")
            graded.append(Graded(job))
            yield job

    def backend(texts: Mapping[str, str]) -> GpuBackend:
        close()  # a second try, after a time-out or a fault of ours
        backends.append(GpuBackend(texts, plan.device, until=until))
        return backends[-1]

    def close() -> None:
        for one in backends:
            one.close()
            graded[-1].warm_up_seconds += one.warm_up_seconds
        backends.clear()

    def told(job: Job, verdict: Verdict, seed: int) -> None:
        graded[-1].seeds[verdict.test] = seed
        name = verdict.test.rpartition("::")[2]
        count = f"[{len(graded[-1].seeds):>3}/{collected}]"
        say(f"{count} {name:<58} {verdict.outcome.value:<13} {verdict.seconds:6.2f} s")

    def done(result: SubmissionResult) -> None:
        graded[-1].result = replace(result, isolation=Level.WEAK.value)
        if plan.bandwidth and backends and "modules.py" in graded[-1].job.texts:
            graded[-1].bandwidth = _bandwidth(backends[-1], say)
        close()

    def count(items: int) -> None:
        nonlocal collected
        collected = items

    session = GpuSession(
        plan.settings, announced(), backend, done, plan.device,
        on_verdict=told, wanted=plan.wants, on_collected=count,
    )  # fmt: skip
    try:
        run_plugin(session, plan.settings)
    finally:
        close()
    return graded


def _bandwidth(backend: GpuBackend, say: Say) -> list[dict[str, Fact]] | str:
    """Rows of the measurement, in the process that graded; or in words why there are none."""
    try:
        rows = backend.bandwidth()
    except StudentFault as fault:
        return printable(f"{fault.outcome.value}: {fault.message}", 300)
    for row in rows:
        name, taken = printable(str(row.get("name")), 40), printable(str(row.get("microseconds")), 20)
        say(f"        RMSNorm's bandwidth: {name:<24} {taken:>10} µs, {printable(str(row.get('ratio')), 20)} of a copy")
    return rows


def _submission(one: Graded) -> dict[str, Any]:
    return {
        "submission": one.job.name,
        "digest": one.job.digest,
        "ungradable": one.result.ungradable,
        "seeds": one.seeds,
        "verdicts": [verdict.to_data() for verdict in one.result.verdicts],
    }


def lines(data: Mapping[str, Any]) -> list[str]:
    """The short table that ends a run: a row an exercise and submission."""
    names = [len(submission["submission"]) for submission in data["submissions"]]
    width = min(44, max([24, *names]))
    rows = [f"{data['machine']}", f"{'submission':<{width}} {'exercise':<10} {'GPU tests':<22} ordinary tests there"]
    for submission in data["submissions"]:
        verdicts = [Verdict.from_data(each) for each in submission["verdicts"]]
        if submission["ungradable"]:
            rows.append(
                f"{printable(submission['submission'], width):<{width}} {printable(submission['ungradable'], 300)}"
            )
        for exercise in dict.fromkeys(verdict.exercise for verdict in verdicts):
            mine = [verdict for verdict in verdicts if verdict.exercise == exercise]
            parts = [[v for v in mine if ("_gpu_" in v.test) is gpu] for gpu in (True, False)]
            name = printable(submission["submission"], width)
            rows.append(f"{name:<{width}} {exercise:<10} {_counted(parts[0]):<22} {_counted(parts[1])}")
            rows += [
                f"{'':<{width + 11}} {verdict.test.rpartition('::')[2]}: {verdict.outcome.value}{_names(verdict)}"
                for verdict in mine
                if verdict.outcome not in (Outcome.PASSED, Outcome.NOT_RUN_HERE, Outcome.NOT_ATTEMPTED)
            ]
    for part in data["bandwidth"]:
        if isinstance(part["rows"], str):
            rows.append(f"{printable(part['submission'], width):<{width}} bandwidth: {part['rows']}")
            continue
        shown = ", ".join(f"{printable(str(row.get('name')), 40)} {row.get('ratio')}" for row in part["rows"])
        rows.append(f"{printable(part['submission'], width):<{width}} time beside a copy of the same bytes: {shown}")
    seconds = data["seconds"]
    rows.append(
        f"{seconds['total']:g} s, of which {seconds['warm_up']:g} s warm-up and {seconds['compiled_tests']:g} s in "
        f"compiled tests. Isolation: {data['isolation']}. GPU tests carry no points."
    )
    return rows


def _counted(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return "–"
    passed = sum(verdict.outcome is Outcome.PASSED for verdict in verdicts)
    missing = sum(verdict.outcome is Outcome.NOT_RUN_HERE for verdict in verdicts)
    return f"{passed} of {len(verdicts)} passed" + (f", {missing} not run" if missing else "")


def _names(verdict: Verdict) -> str:
    return f" ({', '.join(mistake.id for mistake in verdict.mistakes)})" if verdict.mistakes else ""
