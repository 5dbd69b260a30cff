"""Grading again what a ledger holds: the same verdicts replayed, or a whole round under changed tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader.bank import given
from grader.circumstances import circumstances, described
from grader.grading import grade_jobs, with_known
from grader.job import Job
from grader.ledger import Ledger, LedgerError, Recording
from grader.sandbox import acceptable
from grader.session import Settings
from nanolm.protocol import Outcome
from nanolm.untrusted import printable
from nanolm.verdict import Verdict


@dataclass(frozen=True)
class Change:
    """One test that ends otherwise than it did."""

    submission: str
    test: str
    before: Verdict
    after: Verdict

    def __str__(self) -> str:
        """`test_x: wrong value, 0 → passed, 2`."""
        then, now = (f"{v.outcome.value.replace('_', ' ')}, {v.score:g}" for v in (self.before, self.after))
        return f"{self.test.rpartition('::')[2]}: {then} → {now}"


@dataclass(frozen=True)
class Regraded:
    """A submission under the old tests and the new ones."""

    name: str
    before: float
    after: float
    changes: tuple[Change, ...]
    new_tests: tuple[str, ...]
    gone_tests: tuple[str, ...]

    @property
    def gain(self) -> float:
        """Points gained; negative where some are lost."""
        return self.after - self.before


def replay(ledger: Ledger, name: str, settings: Settings) -> tuple[int, list[Change]]:
    """Run what was handed in under a name once more and compare with its verdicts of this round: (how many, changes).

    Nothing is written. Raises LedgerError where the ledger holds nothing that could be compared.
    """
    digest, job = _newest(ledger, name, settings)
    if job.ungradable:
        raise LedgerError(f"{printable(name)} has no verdicts, since it could not be read: {job.ungradable}")
    at = circumstances(settings)
    known = ledger.known(digest, at, acceptable(settings.isolation)[-1]).verdicts
    recorded = {
        test: verdict
        for test, verdict in known.items()
        if verdict.exercise in settings.exercises and verdict.outcome is not Outcome.NOT_RUN_HERE
    }
    if not recorded:
        raise LedgerError(_why_nothing(ledger, digest, name, settings))
    (result,) = grade_jobs([job], settings)
    now = {verdict.test: verdict for verdict in result.verdicts}
    pairs = [(verdict, now.get(test)) for test, verdict in recorded.items()]
    return len(recorded), [
        Change(name, old.test, old, new or replace(old, outcome=Outcome.INFRASTRUCTURE, score=0.0, message="not run"))
        for old, new in pairs
        if new is None or _told(old) != _told(new)
    ]


def _told(verdict: Verdict) -> tuple[object, ...]:
    return verdict.outcome, verdict.score, verdict.message, verdict.mistakes


def _why_nothing(ledger: Ledger, digest: str, name: str, settings: Settings) -> str:
    at = circumstances(settings)
    entries = list(ledger.entries(digest))
    rounds = {entry.circumstances.round for entry in entries}
    if at.round not in rounds:
        known = ", ".join(sorted({known.partition(":")[0] for known in rounds})) or "none"
        return (
            f"{printable(name)} has no verdict of round {settings.round!r} under this NANOLM_SECRET (rounds with a "
            f"verdict: {known}): set --round and the secret of that run"
        )
    if any(entry.circumstances == at and entry.verdict.exercise in settings.exercises for entry in entries):
        return f"{printable(name)} has verdicts of this round, but under weaker isolation: name it with --isolation"
    if any(entry.circumstances == at for entry in entries):
        return f"{printable(name)} has no verdict of these exercises"
    return (
        f"{printable(name)} has verdicts of this round, but under other tests or other software: check out the course "
        "as it was, or use `nanolm regrade` to see what the change means"
    )


def _newest(ledger: Ledger, name: str, settings: Settings) -> tuple[str, Job]:
    digests = ledger.named(name)
    if not digests:
        raise LedgerError(f"the ledger knows no submission named {printable(name)!r}")
    found = ledger.read(digests[-1])
    assert found is not None
    texts, problems = found
    ours = given(settings.root)
    reason = None if texts.keys() - ours.keys() else " ".join(problems.values()) or "nothing of it could be read"
    return digests[-1], Job(name, {**texts, **ours}, problems, ungradable=reason, digest=digests[-1])


def regrade(ledger: Ledger, settings: Settings, *, processes: int | None = None) -> list[Regraded]:
    """Grade every submission of the round under the tests as they are now, and say what changes. Raises CannotStart.

    The new verdicts go into the ledger beside the old ones.
    """
    at = circumstances(settings)
    least = acceptable(settings.isolation)[-1]
    names = ledger.names(at.round)
    if not names:
        raise LedgerError(
            f"the ledger holds no submission of round {settings.round!r} under this NANOLM_SECRET: "
            "set --round and the secret of the run that is to be regraded"
        )
    ledger.describe(at.environment, described())
    jobs = []
    for name in names:
        digest, job = _newest(ledger, name, settings)
        jobs.append(with_known(job, ledger.known(digest, at, least)))
    results = grade_jobs(jobs, settings, processes=processes, recording=Recording(ledger.path, at))
    wanted = set(settings.exercises)
    return [
        compare(job.name, [v for v in ledger.before(job.digest, at).values() if v.exercise in wanted], result.verdicts)
        for job, result in zip(jobs, results, strict=True)
    ]


def compare(name: str, before: Sequence[Verdict], after: Sequence[Verdict]) -> Regraded:
    """What became of one submission."""
    if not before:  # nothing was decided otherwise: these verdicts are the first, or have not changed their key
        before = after
    then, now = ({verdict.test: verdict for verdict in verdicts} for verdicts in (before, after))
    changes = tuple(
        Change(name, test, then[test], verdict)
        for test, verdict in now.items()
        if test in then and (then[test].outcome, then[test].score) != (verdict.outcome, verdict.score)
    )
    return Regraded(
        name,
        sum(verdict.score for verdict in before),
        sum(verdict.score for verdict in after),
        changes,
        tuple(sorted(now.keys() - then.keys())),
        tuple(sorted(then.keys() - now.keys())),
    )


def report(regraded: Sequence[Regraded]) -> Iterator[str]:
    """Who gains, who loses, and why: the largest change first."""
    moved = [one for one in regraded if one.changes or one.new_tests or one.gone_tests]
    for one in sorted(moved, key=lambda one: -abs(one.gain)):
        verb = "gains" if one.gain > 0 else "loses" if one.gain < 0 else "keeps its points, but"
        amount = f" {abs(one.gain):g}" if one.gain else ""
        yield f"{printable(one.name)} {verb}{amount}: {one.before:g} → {one.after:g}"
        yield from (f"    {change}" for change in one.changes)
        for tests, what in ((one.new_tests, "new"), (one.gone_tests, "gone")):
            if tests:
                yield f"    {what}: {', '.join(test.rpartition('::')[2] for test in tests)}"
    gains, losses = (sum(sign * one.gain > 0 for one in regraded) for sign in (1, -1))
    same = len(regraded) - gains - losses
    yield f"{len(regraded)} submissions: {gains} gain, {losses} lose, {same} keep their points."
