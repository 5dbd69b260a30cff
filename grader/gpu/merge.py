"""From a GPU job's file to the ledger and to grades: verdicts of a device, beside those of the CPU, never over them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.circumstances import circumstances
from grader.ledger import Circumstances, Entry, Ledger
from grader.results import SubmissionResult
from grader.sandbox import Level
from grader.session import Settings
from nanolm.course import EXERCISES
from nanolm.protocol import Outcome
from nanolm.texts import catalogue
from nanolm.untrusted import printable
from nanolm.verdict import Verdict

SCHEMA = "nanolm.gpu/1"
MAX_BYTES = 64 << 20


class GpuFileError(ValueError):
    """A file that is not the result of a GPU job; the text says why."""


@dataclass(frozen=True)
class GpuRun:
    """A job's verdicts by submission hash, and what they were given under."""

    at: Circumstances
    machine: str
    verdicts: Mapping[str, tuple[Verdict, ...]]
    seeds: Mapping[str, Mapping[str, int]]

    def is_of(self, settings: Settings) -> bool:
        """Whether it was run under the tests as they are here."""
        return self.at.bundle == circumstances(settings).bundle

    def entries(self) -> Iterator[Entry]:
        """Rows for the ledger. What was not run has no verdict."""
        for digest, verdicts in self.verdicts.items():
            for verdict in verdicts:
                if verdict.outcome is not Outcome.NOT_RUN_HERE:
                    seed = self.seeds.get(digest, {}).get(verdict.test, 0)
                    yield Entry(digest, self.at, Level.WEAK, seed, verdict)


def read_run(path: Path) -> GpuRun:
    """Read a job's file. Raises GpuFileError."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise GpuFileError(f"{path} is larger than any GPU job's file")
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, GpuFileError):
            raise
        raise GpuFileError(f"{path} cannot be read: {printable(str(error))}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise GpuFileError(f"{path} is not the file of a GPU job ({SCHEMA}): name what `nanolm gpu --json` wrote")
    try:
        return _run(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise GpuFileError(f"{path} is damaged: {printable(repr(error))}; run the job again") from error


def _run(data: Mapping[str, Any]) -> GpuRun:
    texts = {name: data[name] for name in ("device", "machine", "bundle", "environment", "round", "isolation")}
    if not all(isinstance(value, str) for value in texts.values()) or texts["isolation"] != Level.WEAK:
        raise ValueError("what it was run under is not text, or not weak isolation")
    if not texts["device"].startswith("cuda:"):
        raise GpuFileError("it was a rehearsal on a CPU, whose verdicts say nothing about a GPU: run it on one")
    device = printable(texts["device"], 80)
    at = Circumstances(texts["bundle"], texts["environment"], texts["round"], device)
    verdicts: dict[str, tuple[Verdict, ...]] = {}
    seeds: dict[str, dict[str, int]] = {}
    for submission in data["submissions"]:
        digest = str(submission["digest"])
        verdicts[digest] = tuple(_verdict(each) for each in submission["verdicts"])
        seeds[digest] = {str(test): int(seed) for test, seed in submission["seeds"].items()}
    return GpuRun(at, texts["machine"], verdicts, seeds)


def _verdict(data: Mapping[str, Any]) -> Verdict:
    """A verdict out of the file; it is text from another machine, so all of it is checked and none of it trusted."""
    verdict = Verdict.from_data(data)
    numbers = (verdict.score, verdict.max_score, verdict.seconds)
    known = catalogue()["mistakes"]
    if verdict.exercise not in EXERCISES or not all(isinstance(n, int | float) and math.isfinite(n) for n in numbers):
        raise ValueError("a verdict is of no exercise, or without a score")
    if not 0 <= verdict.score <= verdict.max_score or any(mistake.id not in known for mistake in verdict.mistakes):
        raise ValueError("a verdict names what this course does not know")
    if not isinstance(verdict.test, str) or not isinstance(verdict.message, str):
        raise ValueError("a verdict is without words")
    return replace(
        verdict,
        test=printable(verdict.test, 300),
        message=printable(verdict.message, 4000, newlines=True),
        notes=tuple(printable(str(note), 500) for note in verdict.notes),
    )


def record(run: GpuRun, ledger: Ledger) -> int:
    """Write a run into the ledger, whole or not at all; returns how many verdicts it has."""
    with ledger.transaction():
        ledger.describe(run.at.environment, run.machine)
        entries = list(run.entries())
        for entry in entries:
            ledger.record(entry)
    return len(entries)


def recorded(ledger: Ledger, digest: str, bundle: str) -> list[Entry]:
    """A submission's verdicts of any device but the CPU, under the tests as they are; the newest last."""
    at_devices = (entry for entry in ledger.entries(digest) if entry.circumstances.device != "cpu")
    return [entry for entry in at_devices if entry.circumstances.bundle == bundle]


def with_devices(result: SubmissionResult, entries: Sequence[Entry]) -> SubmissionResult:
    """A result whose tests that were not run here have the verdict of a device. Points are those of the CPU's tests."""
    found = {entry.verdict.test: entry for entry in entries}
    verdicts, devices = [], dict[str, int]()
    for verdict in result.verdicts:
        entry = found.get(verdict.test)
        if verdict.outcome is not Outcome.NOT_RUN_HERE or verdict.max_score or entry is None:
            verdicts.append(verdict)
            continue
        device = entry.circumstances.device
        devices[device] = devices.get(device, 0) + 1
        verdicts.append(replace(entry.verdict, score=0.0, max_score=0.0, catches=verdict.catches))
    notes = tuple(f"{count} tests have their verdict from {device}." for device, count in devices.items())
    return replace(result, verdicts=tuple(verdicts), notes=(*result.notes, *notes))
