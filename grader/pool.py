"""Many submissions on all cores: a few trusted processes, each with its own pytest session and zygote."""

from __future__ import annotations

import multiprocessing
import os
import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from multiprocessing.process import BaseProcess
from typing import Any

from grader.isolation import open_zygote
from grader.job import Job
from grader.ledger import LedgerError, Recording
from grader.linux import die_with_parent
from grader.remote import InfrastructureError, Limits, WorkerBackend
from grader.results import SubmissionResult
from grader.session import CannotStart, Settings, forget, run_session

WORTH_A_PROCESS = 6
"""Submissions that pay for the start of one more process."""

WAIT_SECONDS = 0.5


def grade_all(
    jobs: Sequence[Job],
    settings: Settings,
    on_result: Callable[[SubmissionResult], None] = lambda result: None,
    *,
    processes: int | None = None,
    limits: Limits | None = None,
    recording: Recording | None = None,
) -> list[SubmissionResult]:
    """Grade every job; results in the order of the jobs, `on_result` as each is ready. Raises CannotStart.

    With `recording` each verdict goes into a ledger as its test ends.
    """
    count = min(processes or os.cpu_count() or 1, max(1, len(jobs) // WORTH_A_PROCESS))
    if count == 1:
        results: list[SubmissionResult] = []

        def keep(result: SubmissionResult) -> None:
            results.append(result)
            on_result(result)

        _grade_here(iter(jobs), settings, keep, limits, recording)
        return results
    return _grade_in_processes(jobs, settings, on_result, count, limits, recording)


def _grade_here(
    jobs: Any,
    settings: Settings,
    on_result: Callable[[SubmissionResult], None],
    limits: Limits | None,
    recording: Recording | None,
) -> None:
    try:
        zygote = open_zygote(settings.isolation, settings.root)
    except InfrastructureError as error:
        raise CannotStart(f"no workers can be started here: {error}") from error
    with zygote, recording.open(zygote.level) if recording else nullcontext(forget) as record:
        level = zygote.level.value
        run_session(
            settings,
            jobs,
            lambda texts: WorkerBackend(zygote, texts, limits),
            lambda result: on_result(replace(result, isolation=result.isolation or level)),
            record,
        )


def _serve(tasks: Any, answers: Any, settings: Settings, limits: Limits | None, recording: Recording | None) -> None:
    """One process: takes (position, job) from the queue; answers (position, result), or (None, why it cannot start)."""
    die_with_parent()
    current: list[int] = []

    def jobs() -> Any:
        while (task := tasks.get()) is not None:
            current[:] = [task[0]]
            yield task[1]

    try:
        _grade_here(jobs(), settings, lambda result: answers.put((current[0], result)), limits, recording)
    except (CannotStart, LedgerError) as error:
        answers.put((None, str(error)))


@contextmanager
def _safe_path() -> Iterator[None]:
    """For processes that are started inside: started with -c, Python looks for modules in the working directory first,
    and that may be a class's folder.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _grade_in_processes(
    jobs: Sequence[Job],
    settings: Settings,
    on_result: Callable[[SubmissionResult], None],
    count: int,
    limits: Limits | None,
    recording: Recording | None,
) -> list[SubmissionResult]:
    context = multiprocessing.get_context("spawn")
    with _safe_path():  # the queues' locks start a process of multiprocessing's own
        tasks, answers = context.Queue(), context.Queue()
        for position, job in enumerate(jobs):
            tasks.put((position, job))
        for _ in range(count):
            tasks.put(None)
        members: list[BaseProcess] = [
            context.Process(target=_serve, args=(tasks, answers, settings, limits, recording)) for _ in range(count)
        ]
        for member in members:
            member.start()
    done: dict[int, SubmissionResult] = {}
    try:
        while len(done) < len(jobs):
            try:
                position, value = answers.get(timeout=WAIT_SECONDS)
            except queue.Empty:
                if not any(member.is_alive() for member in members):
                    break
                continue
            if position is None:
                raise CannotStart(value)
            done[position] = value
            on_result(value)
    finally:
        tasks.cancel_join_thread()  # jobs that nobody takes any more must not keep this process from ending
        for member in members:
            if len(done) < len(jobs):
                member.terminate()
            member.join()
    for position, job in enumerate(jobs):
        if position not in done:
            done[position] = SubmissionResult(
                job.name,
                (),
                0.0,
                ungradable="the grading process ended before this submission was graded: run it again",
            )
            on_result(done[position])
    return [done[position] for position in range(len(jobs))]
