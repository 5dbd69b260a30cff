"""A submission to grade, and how it answers where none of its code needs to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nanolm.course import EXERCISES
from nanolm.protocol import Backend, Call, Outcome, Reply, StudentFault
from nanolm.sources import display_name
from nanolm.verdict import Verdict

EXERCISE_SECONDS = 5.0
"""Time that one exercise may lose to slow tests and time-outs; then what has timed out in it is not called again."""


@dataclass(frozen=True)
class Job:
    """One submission to grade: checked texts by file name, and files that could not be read with the reason."""

    name: str
    texts: Mapping[str, str]
    problems: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ungradable: str | None = None
    exercises: tuple[str, ...] | None = None
    digest: str = ""
    """What the submission is called in a ledger."""
    known: Mapping[str, Verdict] = field(default_factory=dict)
    """Verdicts that a ledger has already, by test id; an exercise all of whose tests are known is not run."""
    known_isolation: str = ""


class SubmissionBackend:
    """A submission's own answer where no code needs to run: files that are absent or could not be read, lost time."""

    def __init__(self, job: Job, inner: Backend) -> None:
        self.name = inner.name
        self.inner = inner
        self.time_is_up = False
        self._job = job
        self._endless: set[str] = set()
        self._forbidden: dict[str, StudentFault] = {}

    def run(self, call: Call) -> Reply:
        """Carry out one call, unless the exercise's file is not there to be run, or its time is up."""
        from nanolm.adapters import ENTRIES

        exercise = ENTRIES[call.entry].exercise
        file = EXERCISES[exercise].file
        if (known := self._forbidden.get(exercise)) is not None:
            raise StudentFault(known.outcome, known.message, place=known.place)
        if file in self._job.problems:
            raise StudentFault(Outcome.EXCEPTION, self._job.problems[file])
        if file not in self._job.texts:
            raise StudentFault(Outcome.NOT_ATTEMPTED, f"{display_name(file)} is not there")
        if self.time_is_up and call.entry in self._endless:
            message = f"not run: this exercise has used up its {EXERCISE_SECONDS:g} s in tests that did not end"
            raise StudentFault(Outcome.TIMEOUT, message)
        try:
            return self.inner.run(call)
        except StudentFault as fault:
            if fault.outcome is Outcome.TIMEOUT:
                self._endless.add(call.entry)
            if fault.outcome is Outcome.FORBIDDEN:
                self._forbidden[exercise] = fault
            raise
