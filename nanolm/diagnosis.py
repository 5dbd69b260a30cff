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
    if one is other:
        return True
    ours, theirs = one.numbers, other.numbers
    if one.kind != other.kind or ours.shape != theirs.shape:
        return False
    # np.allclose with equal_nan, at a third of its time: a diagnosis compares some ten thousand times.
    with np.errstate(invalid="ignore"):
        near = (np.abs(ours - theirs) <= probe.atol + probe.rtol * np.abs(theirs)) & np.isfinite(theirs)
    return bool((near | (ours == theirs) | ((ours != ours) & (theirs != theirs))).all())


def matches(probe: Probe, observed: Observation, banked: Observation, right: Observation) -> bool:
    """Whether a probe's observation is the banked mistake's, as finely as the probe can tell."""
    if probe.coarse and observed.kind == banked.kind:
        return same(probe, observed, right) == same(probe, banked, right)
    return same(probe, observed, banked)


@cache
def fingerprints(exercise: str) -> dict[str, Observations]:
    """Stored observations of an exercise by label: `reference`, `centering`, `centering__var`, …"""
    from safetensors import safe_open

    if not FINGERPRINTS.is_file():
        return {}
    stored: dict[str, dict[str, Observation | None]] = {}
    with safe_open(FINGERPRINTS, framework="numpy") as file:
        metadata = file.metadata()
        kinds: dict[str, str | None] = json.loads(metadata["kinds"])
        for key, kind in kinds.items():
            owner, label, probe = key.split(SEPARATOR)
            if owner == exercise:
                seen = None if kind is None else Observation(kind, file.get_tensor(key).astype(np.float64))
                stored.setdefault(label, {})[probe] = seen
        labels: list[str] = json.loads(metadata["labels"]).get(exercise, [])
    # What is not stored of a mistake is what the reference gives; what is stored as nothing was never seen.
    right = stored.get(REFERENCE, {})
    whole = {label: {**right, **stored.get(label, {})} for label in labels}
    return {label: {name: o for name, o in probes.items() if o is not None} for label, probes in whole.items()}


def mistake_of(exercise: str, label: str) -> str:
    """`centering__var` of rmsnorm → `rmsnorm-centering`."""
    return f"{exercise}-{label.partition('__')[0]}"


def explain(exercise: str, observed: Observations, bank: Mapping[str, Observations] | None = None) -> list[Explanation]:
    """Named mistakes that account for what was observed, the one that accounts for most first.

    A mistake with the observed result on every probe is complete and stands alone. Otherwise mistakes are taken one
    by one, each the one that accounts for most of what is still unexplained, and only where the larger part of what
    that mistake would show was in fact seen, and nothing speaks against it: where it would show and something else
    was seen, another of the mistakes taken must show too. Where all of them account for less than half, something
    else is wrong, and a likeness on a few probes names nothing.
    """
    known = fingerprints(exercise) if bank is None else bank
    if REFERENCE not in known:
        return []
    right = known[REFERENCE]
    # A function that nobody has written yet is no evidence, for or against: the others are judged by themselves.
    attempted = {name for name, seen in observed.items() if seen.kind != Outcome.NOT_ATTEMPTED}
    probes = [probe for probe in PROBES[exercise] if probe.name in attempted and probe.name in right]
    wrong = {probe.name for probe in probes if not same(probe, observed[probe.name], right[probe.name])}
    if not wrong:
        return []
    shows = _shows(exercise) if bank is None else _showing(exercise, bank)
    present = {probe.name for probe in probes}
    plain = _plain(probes, observed)
    coarse = {probe.name for probe in probes if probe.coarse}
    faults = {probe.name for probe in probes if observed[probe.name].kind in FAULTS}
    mute = coarse.union(faults, *plain)  # results that could be the same with one mistake more
    candidates: list[_Candidate] = []
    whole: list[tuple[int, str]] = []
    for label, banked in known.items():
        if label == REFERENCE or not _same_faults(probes, observed, banked):
            continue
        # Most of what a mistake gives is what the reference gives, and is stored as that very object.
        own = [p for p in probes if banked[p.name] is not right[p.name]]
        shown = shows[label] & present
        agree = {p.name for p in own if matches(p, observed[p.name], banked[p.name], right[p.name])}
        agree |= {p.name for p in probes if banked[p.name] is right[p.name]} - wrong
        name = mistake_of(exercise, label)
        if len(agree) == len(probes) and len(observed) == len(right):
            whole.append((len(shows[label] - shown), name))
        explained = (agree & wrong) - _no_evidence(plain, agree)
        if explained - coarse:
            groups = explained, shown, shown - agree, shown - (agree & mute) - (wrong - agree)
            candidates.append(_Candidate(name, *(frozenset(group) for group in groups)))
    if whole:  # of several, the one that promises least of what was not written yet
        return [Explanation(min(whole, key=lambda one: one[0])[1], frozenset(wrong), complete=True)]
    return _cover(candidates, wrong)


def _showing(exercise: str, bank: Mapping[str, Observations]) -> dict[str, frozenset[str]]:
    """The probes on which each mistake of a bank differs from a right answer, by its label."""
    right = bank[REFERENCE]
    return {
        label: frozenset(
            probe.name
            for probe in PROBES[exercise]
            if probe.name in right and not same(probe, banked[probe.name], right[probe.name])
        )
        for label, banked in bank.items()
    }


@cache
def _shows(exercise: str) -> dict[str, frozenset[str]]:
    """The probes on which each stored mistake differs from a right answer, by its label."""
    return _showing(exercise, fingerprints(exercise))


@dataclass(frozen=True)
class _Candidate:
    """A mistake that may be one of several: the probes that it accounts for, shows on, and is contradicted by.

    Of the probes that it shows on, `firm` are those that look as if nothing but it were wrong, or nothing at all: no
    second mistake shows on them. On the others it may hide one, or the two give a result that neither gives alone.
    """

    mistake: str
    explains: frozenset[str]
    shown: frozenset[str]
    against: frozenset[str]
    firm: frozenset[str]

    def is_seen(self, taken: Sequence[_Candidate]) -> bool:
        """Whether the larger part of what it would show was seen, or of what the mistakes taken do not hide."""
        if any(self.against & other.firm for other in taken):
            return False
        hidden = frozenset[str]().union(*(other.shown - other.firm for other in taken))
        return any(2 * len(self.explains & part) > len(part) for part in (self.shown, self.shown - hidden))

    def refuted_by(self, others: Iterable[_Candidate]) -> frozenset[str]:
        """Where something else was seen than it would show, and no other mistake can be the reason."""
        return self.against.difference(*(other.shown - other.firm for other in others))


def _same_faults(probes: Sequence[Probe], observed: Observations, banked: Observations) -> bool:
    """Whether a mistake that makes probes fail makes just those fail that failed here.

    A result says much; that something raised says little: a file that cannot be imported raises everywhere, and must
    not be taken for a mistake that raises on one probe. Missing names are no evidence at all.
    """
    faults = {probe.name for probe in probes if banked[probe.name].kind in FAULTS}
    if any(banked[name].kind == Outcome.WRONG_INTERFACE for name in faults):
        return False
    return not faults or faults == {probe.name for probe in probes if observed[probe.name].kind in FAULTS}


def _plain(probes: Sequence[Probe], observed: Observations) -> list[set[str]]:
    """Probes with a result that needs no computing, by what it is: all zeros, ones, NaN or infinity, or x itself."""
    groups: dict[str, set[str]] = {}
    for probe in probes:
        numbers = observed[probe.name].numbers
        if not numbers.size:
            continue
        x = probe.call().tensors.get("x")
        if np.isin(numbers, (0.0, 1.0, np.inf, -np.inf)).all() or np.isnan(numbers).all():
            first = float(numbers[0])
            if np.array_equal(numbers, np.full_like(numbers, first), equal_nan=True):
                groups.setdefault(str(first), set()).add(probe.name)
        elif x is not None and np.array_equal(numbers, x.double().numpy().reshape(-1)):
            groups.setdefault("x", set()).add(probe.name)
    return list(groups.values())


def _no_evidence(plain: Sequence[set[str]], agree: set[str]) -> set[str]:
    """Plain results that speak for no mistake: the same comes as often where that mistake gives something else."""
    return {name for group in plain if len(group - agree) >= len(group & agree) for name in group}


def _cover(candidates: Sequence[_Candidate], wrong: set[str]) -> list[Explanation]:
    """Mistakes that together account for at least half of what is wrong, none of them contradicted."""
    left = list(candidates)
    while chosen := _greedy(left, wrong):
        # Two mistakes at once may give a third result where both show; elsewhere each must be as it is alone.
        taken = [candidate for candidate, _ in chosen]
        refuted = [len(one.refuted_by(other for other in taken if other is not one)) for one in taken]
        if not any(refuted):
            break
        worst = taken[refuted.index(max(refuted))]
        left = [candidate for candidate in left if candidate is not worst]
    explained: dict[str, frozenset[str]] = {}
    for candidate, gained in chosen:
        explained[candidate.mistake] = explained.get(candidate.mistake, frozenset()) | gained
    if 2 * len(frozenset[str]().union(*explained.values())) < len(wrong):
        return []
    return [Explanation(name, seen, complete=False, share=len(seen) / len(wrong)) for name, seen in explained.items()]


def _greedy(candidates: Sequence[_Candidate], wrong: set[str]) -> list[tuple[_Candidate, frozenset[str]]]:
    """One candidate after another, each with what it adds."""
    chosen: list[tuple[_Candidate, frozenset[str]]] = []
    left = frozenset(wrong)
    while left:
        taken = [candidate for candidate, _ in chosen]
        seen = [candidate for candidate in candidates if candidate.is_seen(taken)]
        if not seen:
            break
        # Most of what is left; among equals the mistake that promised least beside it.
        best = max(seen, key=lambda candidate: (len(candidate.explains & left), -len(candidate.shown)))
        gained = best.explains & left
        rivals = {other.mistake for other in seen if other.explains & left == gained}
        if not gained or (len(gained) == 1 and rivals - {best.mistake}):
            break  # one observation that several mistakes share names none of them
        chosen.append((best, gained))
        left -= gained
    return chosen


def diagnose(implementation: Implementation, exercise: str) -> tuple[NamedMistake, ...]:
    """Mistakes with evidence `output`, the likeliest first: what an exercise's probes show."""
    return tuple(
        NamedMistake(
            item.mistake,
            "output",
            text("diagnosis", "complete" if item.complete else "partial", count=len(item.explains)),
            item.share,
        )
        for item in explain(exercise, observe(implementation, exercise))
    )


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
