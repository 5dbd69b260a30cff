"""Which named mistake explains what an implementation does: its outputs on probe inputs against each mistake's own.

`fingerprints.safetensors` holds what every banked mistake (and the right answer) gives on the probes: numbers, no code.
A match on numbers is evidence; where there is none, no name is given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nanolm.implementation import Implementation, TestCut
from nanolm.probes import PROBES, Probe
from nanolm.protocol import Outcome, Reply, StudentFault
from nanolm.texts import text
from nanolm.verdict import NamedMistake, Verdict

FINGERPRINTS = Path(__file__).parent / "fingerprints.safetensors"
REFERENCE = "reference"
SEPARATOR = "|"

NO_PROBING = frozenset({Outcome.TIMEOUT, Outcome.OUT_OF_MEMORY, Outcome.CRASHED, Outcome.INFRASTRUCTURE})
"""Where a probe ends like this, the rest would cost as much and tell as little."""

FAULTS = frozenset(str(outcome.value) for outcome in Outcome)
"""Kinds of observations that are outcomes of faults."""


@dataclass(frozen=True)
class Observation:
    """What one probe showed: the kind of result (dtype and shape, or the outcome of a fault) and its numbers."""

    kind: str
    numbers: NDArray[np.float64]


Observations = Mapping[str, Observation]


@dataclass(frozen=True)
class Explanation:
    """A mistake and the probes it accounts for: all that differ from a right answer where it is `complete`.

    `share` is their part of the probes that differ from a right answer.
    """

    mistake: str
    explains: frozenset[str]
    complete: bool
    share: float = 1.0


def observe(implementation: Implementation, exercise: str) -> dict[str, Observation]:
    """Run an exercise's probes. Faults are observations too; a probe that hangs or dies ends the observing."""
    seen: dict[str, Observation] = {}
    for probe in PROBES.get(exercise, ()):
        call = probe.call()
        try:
            reply = implementation.call(
                call.entry, call.tensors, call.scalars, upstream=call.upstream, return_arguments=call.return_arguments
            )
            kind, numbers = _read(probe, reply)
        except StudentFault as fault:
            kind, numbers = str(fault.outcome.value), np.zeros(0)
        except TestCut as cut:
            if cut.fault.outcome in NO_PROBING:
                break
            kind, numbers = str(cut.fault.outcome.value), np.zeros(0)
        seen[probe.name] = Observation(kind, numbers)
    return seen


def _read(probe: Probe, reply: Reply) -> tuple[str, NDArray[np.float64]]:
    """What the probe reads; a reply that it cannot read (a scalar, where it asks for rows) is an observation too."""
    try:
        return probe.read(reply)
    except Exception as error:
        return f"unreadable: {type(error).__name__}", np.zeros(0)


def same(probe: Probe, one: Observation, other: Observation) -> bool:
    """Equal to the probe's tolerance; NaN equals NaN and an infinity itself."""
    return (
        one.kind == other.kind
        and one.numbers.shape == other.numbers.shape
        and bool(np.allclose(one.numbers, other.numbers, rtol=probe.rtol, atol=probe.atol, equal_nan=True))
    )


def matches(probe: Probe, observed: Observation, banked: Observation, right: Observation) -> bool:
    """Whether a probe's observation is the banked mistake's, as finely as the probe can tell."""
    if probe.coarse and observed.kind == banked.kind:
        return same(probe, observed, right) == same(probe, banked, right)
    return same(probe, observed, banked)


@cache
def fingerprints(exercise: str) -> dict[str, Observations]:
    """Stored observations of an exercise by label: `reference`, `centering`, `centering__var`, …"""
    from safetensors import safe_open

    found: dict[str, dict[str, Observation]] = {}
    if not FINGERPRINTS.is_file():
        return {}
    with safe_open(FINGERPRINTS, framework="numpy") as file:
        kinds: dict[str, str] = json.loads(file.metadata()["kinds"])
        for key, kind in kinds.items():
            owner, label, probe = key.split(SEPARATOR)
            if owner == exercise:
                found.setdefault(label, {})[probe] = Observation(kind, file.get_tensor(key).astype(np.float64))
    return dict(found.items())


def mistake_of(exercise: str, label: str) -> str:
    """`centering__var` of rmsnorm → `rmsnorm-centering`."""
    return f"{exercise}-{label.partition('__')[0]}"


def explain(exercise: str, observed: Observations, bank: Mapping[str, Observations] | None = None) -> list[Explanation]:
    """Named mistakes that account for what was observed, the one that accounts for most first.

    A mistake with the observed result on every probe is complete and stands alone. Otherwise mistakes are taken one
    by one, each the one that accounts for most of what is still unexplained, and only where the larger part of what
    that mistake would show was in fact seen. Where all of them account for less than half, something else is wrong,
    and a likeness on a few probes names nothing.
    """
    known = fingerprints(exercise) if bank is None else bank
    if REFERENCE not in known:
        return []
    right = known[REFERENCE]
    probes = [probe for probe in PROBES[exercise] if probe.name in observed and probe.name in right]
    wrong = {probe.name for probe in probes if not same(probe, observed[probe.name], right[probe.name])}
    if not wrong:
        return []
    candidates: list[tuple[Explanation, int]] = []
    for label, banked in known.items():
        if label == REFERENCE or not _same_faults(probes, observed, banked):
            continue
        shown = {p.name for p in probes if not same(p, banked[p.name], right[p.name])}
        agree = {p.name for p in probes if matches(p, observed[p.name], banked[p.name], right[p.name])}
        explained = agree & wrong
        complete = len(agree) == len(probes) and len(observed) == len(right)
        if complete or (explained and 2 * len(explained & shown) > len(shown)):
            candidates.append((Explanation(mistake_of(exercise, label), frozenset(explained), complete), len(shown)))
    return _cover(candidates, wrong)


def _same_faults(probes: Sequence[Probe], observed: Observations, banked: Observations) -> bool:
    """Whether a mistake that makes probes fail makes just those fail that failed here.

    A result says much; that something raised says little: a file that cannot be imported raises everywhere, and must
    not be taken for a mistake that raises on one probe. Missing names are no evidence at all.
    """
    faults = {probe.name for probe in probes if banked[probe.name].kind in FAULTS}
    if any(banked[name].kind == Outcome.WRONG_INTERFACE for name in faults):
        return False
    return not faults or faults == {probe.name for probe in probes if observed[probe.name].kind in FAULTS}


def _cover(candidates: Sequence[tuple[Explanation, int]], wrong: set[str]) -> list[Explanation]:
    for candidate, _ in candidates:
        if candidate.complete:
            return [candidate]
    chosen: list[Explanation] = []
    left = set(wrong)
    while left and candidates:
        # Most of what is left; among equals the mistake that promised least beside it.
        best, _ = max(candidates, key=lambda pair: (len(pair[0].explains & left), -pair[1]))
        gained = best.explains & left
        rivals = {pair[0].mistake for pair in candidates if pair[0].explains & left == gained and pair[0] is not best}
        if not gained or (len(gained) == 1 and rivals - {best.mistake}):
            break  # one observation that several mistakes share names none of them
        if best.mistake not in {explanation.mistake for explanation in chosen}:
            chosen.append(Explanation(best.mistake, frozenset(gained), complete=False, share=len(gained) / len(wrong)))
        left -= gained
    return chosen if 2 * len(left) <= len(wrong) else []


class Diagnoser:
    """Probes an implementation once an exercise, when its first test fails."""

    def __init__(self, implementation: Implementation) -> None:
        self._implementation = implementation
        self._named: dict[str, tuple[NamedMistake, ...]] = {}

    def named(self, exercise: str) -> tuple[NamedMistake, ...]:
        """Mistakes with evidence `output`, the likeliest first."""
        if exercise not in self._named:
            self._named[exercise] = ()  # a fault of ours while probing must not repeat for every test
            observed = observe(self._implementation, exercise)
            found = explain(exercise, observed)
            self._named[exercise] = tuple(
                NamedMistake(
                    item.mistake,
                    "output",
                    text("diagnosis", "complete" if item.complete else "partial", count=len(item.explains)),
                    item.share,
                )
                for item in found
            )
        return self._named[exercise]


def by_property(mistake_id: str) -> NamedMistake:
    """A mistake named by a failure that only it explains."""
    return NamedMistake(mistake_id, "property", text("diagnosis", "property"), share=0.0)


def root_causes(verdicts: Iterable[Verdict]) -> list[NamedMistake]:
    """The mistakes named by an exercise's verdicts, each once: by numbers first, by a property after that."""
    found: dict[str, NamedMistake] = {}
    for verdict in verdicts:
        for mistake in verdict.mistakes:
            kept = found.get(mistake.id)
            if kept is None or (kept.evidence, mistake.evidence) == ("property", "output"):
                found[mistake.id] = mistake
    return sorted(found.values(), key=lambda mistake: -mistake.share)
