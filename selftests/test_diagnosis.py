"""The diagnosis: names where the numbers are there, silence where they are not; and the words that go with a name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from grader.bank import read_bank
from grader.fingerprints import Bank, differences, observe_bank
from nanolm import diagnosis
from nanolm.course import EXERCISES
from nanolm.diagnosis import (
    REFERENCE,
    Observation,
    Observations,
    by_property,
    diagnose,
    explain,
    fingerprints,
    matches,
    mistake_of,
    observe,
    root_causes,
    same,
)
from nanolm.implementation import Implementation, LocalBackend
from nanolm.probes import PROBES, Probe
from nanolm.protocol import Call, Outcome, Reply, StudentFault
from nanolm.sources import NamespaceSource, PackageSource
from nanolm.texts import catalogue
from nanolm.verdict import NamedMistake, Verdict

ROOT = Path(__file__).resolve().parents[1]
SPECIMENS = read_bank(ROOT)
REJECTED = [specimen for specimen in SPECIMENS if specimen.kind == "rejected"]
RIGHT = {exercise: fingerprints(exercise)[REFERENCE] for exercise in EXERCISES}


def named(explanations: list[diagnosis.Explanation]) -> list[str]:
    return [explanation.mistake for explanation in explanations]


def changed(observations: Observations, change: Mapping[str, Observation]) -> dict[str, Observation]:
    assert set(change) <= set(observations)
    return {**observations, **change}


def each(observations: Observations, scale: float = 1.0, offset: float = 0.0) -> dict[str, Observation]:
    """Every output changed alike; what was read off a fresh module or an argument stays."""
    kept = ("argument", "fresh", "fresh gain", "fresh and wide")
    return {
        name: o if name in kept else Observation(o.kind, o.numbers * scale + offset) for name, o in observations.items()
    }


def shown(exercise: str, label: str) -> set[str]:
    """The probes on which a banked mistake differs from a right answer."""
    banked = fingerprints(exercise)[label]
    return {p.name for p in PROBES[exercise] if not same(p, banked[p.name], RIGHT[exercise][p.name])}


# ── What is stored ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def bank() -> Bank:
    """What every banked mistake gives now; a few seconds of workers."""
    return observe_bank(ROOT)


def test_stored_fingerprints_are_what_the_bank_gives_now(bank: Bank) -> None:
    assert differences(bank) == []
    assert {(name, label) for name, labels in bank.items() for label in labels} == {
        *((specimen.exercise, specimen.label) for specimen in REJECTED),
        *((name, REFERENCE) for name in EXERCISES),
    }


def test_what_is_stale_missing_or_left_over_is_reported(bank: Bank) -> None:
    probe = PROBES["rmsnorm"][0]
    old = bank["rmsnorm"]["centering"][probe.name]
    moved = {probe.name: Observation(old.kind, old.numbers + 1)}
    stale = {**bank, "rmsnorm": {**bank["rmsnorm"], "centering": changed(bank["rmsnorm"]["centering"], moved)}}
    (problem,) = differences(stale)
    assert problem.startswith(f"rmsnorm/centering: {probe.name} ")
    fewer = {label: seen for label, seen in bank["rmsnorm"].items() if label != "centering"}
    assert differences({**bank, "rmsnorm": fewer}) == ["rmsnorm/centering is stored but not in the bank"]
    more = {**bank["rmsnorm"], "a-new-mistake": bank["rmsnorm"]["centering"]}
    assert len(differences({**bank, "rmsnorm": more})) == len(PROBES["rmsnorm"])


def test_every_probe_of_the_reference_is_an_output_and_none_a_fault() -> None:
    for exercise in EXERCISES:
        assert set(RIGHT[exercise]) == {probe.name for probe in PROBES[exercise]}
        assert not {o.kind for o in RIGHT[exercise].values()} & {outcome.value for outcome in Outcome}
        assert all(np.isfinite(o.numbers).all() for o in RIGHT[exercise].values())
        assert any(o.numbers.size for o in RIGHT[exercise].values())


SHOW_NO_BANKED_MISTAKE = {"mhc": {"mix afterwards"}}
"""Probes on which every banked mistake is right: the bank's in-place answer to mhc overwrites the logits, none the
streams in `mix_streams`. The probe speaks against a name: what does overwrite them matches no fingerprint."""


def test_every_probe_shows_some_mistake_and_every_mistake_some_probe() -> None:
    for exercise in EXERCISES:
        visible = {label: shown(exercise, label) for label in fingerprints(exercise) if label != REFERENCE}
        assert all(visible.values())
        silent = set(RIGHT[exercise]).difference(*visible.values())
        assert silent == SHOW_NO_BANKED_MISTAKE.get(exercise, set()), exercise


def test_the_solutions_give_the_stored_reference_in_this_process() -> None:
    implementation = Implementation(LocalBackend(PackageSource("solutions", ROOT / "solutions"), "solutions"))
    for exercise in EXERCISES:
        observed = observe(implementation, exercise)
        wrong = [p.name for p in PROBES[exercise] if not same(p, observed[p.name], RIGHT[exercise][p.name])]
        assert wrong == []
        assert explain(exercise, observed) == []


# ── explain ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("specimen", REJECTED, ids=lambda specimen: specimen.name)
def test_the_numbers_of_a_banked_mistake_give_its_name_alone(specimen: object) -> None:
    exercise, label = specimen.exercise, specimen.label  # type: ignore[attr-defined]
    banked = fingerprints(exercise)[label]
    if "wrong_interface" in {o.kind for o in banked.values()}:  # missing names are no evidence; a property names it
        assert explain(exercise, banked) == []
        return
    (explanation,) = explain(exercise, banked)
    assert explanation.share == 1.0
    assert explanation.mistake == mistake_of(exercise, label)
    assert explanation.complete
    assert explanation.explains == shown(exercise, label)


def test_labels_of_one_mistake_have_one_name() -> None:
    assert mistake_of("rmsnorm", "centering__var-mean") == mistake_of("rmsnorm", "centering") == "rmsnorm-centering"


def test_two_mistakes_that_show_on_different_probes_are_both_named() -> None:
    for exercise, one, other in (
        ("rmsnorm", "eps-outside-sqrt", "wrong-dtype"),
        ("rmsnorm", "centering", "extra-bias"),
        ("swiglu", "gelu-gate", "biased-linear"),
    ):
        known = fingerprints(exercise)
        assert not shown(exercise, one) & shown(exercise, other)
        both = changed(known[one], {name: known[other][name] for name in shown(exercise, other)})
        found = explain(exercise, both)
        assert set(named(found)) == {f"{exercise}-{one}", f"{exercise}-{other}"}
        assert not any(explanation.complete for explanation in found)
        assert {name for e in found for name in e.explains} == shown(exercise, one) | shown(exercise, other)


def test_a_mistake_beside_an_unknown_one_is_named_and_the_rest_stays_unexplained() -> None:
    known = fingerprints("swiglu")
    strange = Observation("float32[1, 1, 12]", np.arange(12.0))
    observed = changed(known["biased-linear"], {"gate curve": strange})
    found = explain("swiglu", observed)
    assert named(found) == ["swiglu-biased-linear"]
    assert "gate curve" not in found[0].explains
    assert not found[0].complete
    assert found[0].share == 0.5


def test_a_likeness_on_a_few_of_many_wrong_probes_names_nothing() -> None:
    known = fingerprints("swiglu")
    few, many = shown("swiglu", "biased-linear"), ["gate curve", "open gates", "shut gates"]
    strange = {name: Observation("float32[1]", np.array([7.0])) for name in many}
    for count in (len(few), len(few) + 1):
        observed = changed(known["biased-linear"], {name: strange[name] for name in many[:count]})
        assert named(explain("swiglu", observed)) == (["swiglu-biased-linear"] if count == len(few) else [])


def test_a_right_answer_has_no_name_and_neither_has_rounding() -> None:
    for exercise in EXERCISES:
        assert explain(exercise, RIGHT[exercise]) == []
        assert explain(exercise, each(RIGHT[exercise], scale=1 + 1e-6)) == []


def noise(exercise: str, seed: int) -> dict[str, Observation]:
    rng = np.random.default_rng(seed)
    return {name: Observation(o.kind, rng.standard_normal(o.numbers.shape)) for name, o in RIGHT[exercise].items()}


UNKNOWN = {
    "the output three times": lambda exercise: each(RIGHT[exercise], scale=3.0),
    "the output turned": lambda exercise: each(RIGHT[exercise], scale=-1.0),
    "the output moved": lambda exercise: each(RIGHT[exercise], offset=0.7),
    "zeros": lambda exercise: each(RIGHT[exercise], scale=0.0),
    "NaN": lambda exercise: each(RIGHT[exercise], scale=float("nan")),
    "noise": lambda exercise: noise(exercise, 1),
    "other noise": lambda exercise: noise(exercise, 2),
    "an exception": lambda exercise: {n: Observation("exception", np.zeros(0)) for n in RIGHT[exercise]},
    "nothing seen": lambda exercise: {},
}


@pytest.mark.parametrize("exercise", EXERCISES)
@pytest.mark.parametrize("make", UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_mistake_gets_no_name(exercise: str, make: object) -> None:
    assert callable(make)
    assert named(explain(exercise, make(exercise))) == []


def test_an_output_doubled_is_not_the_mistake_that_doubles_it_at_a_gain_of_ones() -> None:
    # With a gain of ones, 1 + gamma doubles the output: the same numbers on many probes, but not with another gain.
    assert named(explain("rmsnorm", each(RIGHT["rmsnorm"], scale=2.0))) == []
    assert named(explain("swiglu", each(RIGHT["swiglu"], scale=2.0))) == []


def test_one_observation_that_several_mistakes_share_names_none_of_them() -> None:
    probe = PROBES["rmsnorm"][0]
    wrong = Observation(RIGHT["rmsnorm"][probe.name].kind, RIGHT["rmsnorm"][probe.name].numbers + 1)
    one = changed(RIGHT["rmsnorm"], {probe.name: wrong})
    bank = {REFERENCE: RIGHT["rmsnorm"], "first": one, "second": one}
    # Both agree throughout: the first is complete. With one more probe wrong, neither is, and nothing decides.
    assert named(explain("rmsnorm", one, bank)) == ["rmsnorm-first"]
    other = PROBES["rmsnorm"][1].name
    more = changed(one, {other: Observation("strange", np.zeros(0))})
    assert explain("rmsnorm", more, bank) == []
    (found,) = explain("rmsnorm", more, {REFERENCE: RIGHT["rmsnorm"], "first": one})
    assert (found.mistake, found.complete, found.share) == ("rmsnorm-first", False, 0.5)


def test_a_mistake_whose_greater_part_is_not_seen_is_not_named() -> None:
    names = [probe.name for probe in PROBES["rmsnorm"]]
    wrong = {n: Observation(RIGHT["rmsnorm"][n].kind, RIGHT["rmsnorm"][n].numbers + 1) for n in names[:4]}
    bank = {REFERENCE: RIGHT["rmsnorm"], "wide": changed(RIGHT["rmsnorm"], wrong)}
    strange = {names[3]: Observation("strange", np.zeros(0))}
    other = {names[3]: Observation("other", np.zeros(0)), names[5]: Observation("other", np.zeros(0))}
    for count in (1, 2, 3):
        observed = changed(RIGHT["rmsnorm"], {name: wrong[name] for name in names[:count]})
        assert explain("rmsnorm", observed, bank) == []  # where the fourth is right, or strange, it cannot be "wide" …
        assert explain("rmsnorm", changed(observed, strange), bank) == []
    # … unless a second mistake shows there too: the two together may look strange.
    both = {**bank, "narrow": changed(RIGHT["rmsnorm"], other)}
    seen = changed(observed, {**other, **strange})
    assert named(explain("rmsnorm", seen, both)) == ["rmsnorm-wide", "rmsnorm-narrow"]
    assert explain("rmsnorm", changed(observed, {names[5]: other[names[5]]}), both) == []


def test_a_result_that_needs_no_computing_speaks_for_no_mistake_where_it_comes_everywhere() -> None:
    zeros = {n: Observation(o.kind, o.numbers * 0) for n, o in RIGHT["rmsnorm"].items()}
    half = ("float16 signs of 300", "bfloat16 tokens")
    narrow = {REFERENCE: RIGHT["rmsnorm"], "half": changed(RIGHT["rmsnorm"], {name: zeros[name] for name in half})}
    seen = changed(narrow["half"], {"argument": Observation("strange", np.zeros(0))})
    assert named(explain("rmsnorm", seen, narrow)) == ["rmsnorm-half"]
    assert explain("rmsnorm", changed(zeros, {n: RIGHT["rmsnorm"][n] for n in ("argument", "gradients")}), narrow) == []


@pytest.mark.parametrize(
    ("exercise", "label", "written"),
    [
        ("mhc", "mixing-dropped__no-mix", ("step", "residual", "write", "read", "branch")),
        ("placement", "normalized-residual", ("pre",)),
    ],
)
def test_what_is_not_written_yet_does_not_hide_a_name(exercise: str, label: str, written: tuple[str, ...]) -> None:
    right, mistaken = RIGHT[exercise], fingerprints(exercise)[label]
    observed = {
        name: one if name.startswith(written) else Observation(Outcome.NOT_ATTEMPTED, np.zeros(0, np.float32))
        for name, one in mistaken.items()
    }
    assert any(
        not same_named(exercise, name, observed[name], right[name]) for name in right if name.startswith(written)
    )
    assert named(explain(exercise, observed)) == [mistake_of(exercise, label)]
    nothing = {name: Observation(Outcome.NOT_ATTEMPTED, np.zeros(0, np.float32)) for name in right}
    assert explain(exercise, nothing) == []


def same_named(exercise: str, name: str, left: Observation, right: Observation) -> bool:
    (probe,) = [probe for probe in PROBES[exercise] if probe.name == name]
    return same(probe, left, right)


def test_what_was_cut_short_is_never_complete() -> None:
    known = fingerprints("rmsnorm")["centering"]
    some = dict(list(known.items())[:5])
    found = explain("rmsnorm", some)
    assert not any(explanation.complete for explanation in found)


def test_without_a_reference_nothing_is_explained() -> None:
    assert explain("rmsnorm", RIGHT["rmsnorm"], {}) == []


# ── same and matches ─────────────────────────────────────────────────────────────────────────────────────────────────


def observation(*numbers: float, kind: str = "a") -> Observation:
    return Observation(kind, np.array(numbers))


def test_same_is_about_kind_shape_and_numbers() -> None:
    probe = Probe("p", lambda: Call("rms_norm"), rtol=0.0, atol=0.1)
    nan, inf = float("nan"), float("inf")
    assert same(probe, observation(1, nan, inf), observation(1.05, nan, inf))
    assert not same(probe, observation(1), observation(1.2))
    assert not same(probe, observation(1), observation(1, kind="b"))
    assert not same(probe, observation(1), observation(1, 1))
    assert not same(probe, observation(inf), observation(-inf))
    assert not same(probe, observation(nan), observation(1))


def test_a_coarse_probe_tells_right_from_wrong_only() -> None:
    fine = Probe("p", lambda: Call("rms_norm"), rtol=0.0, atol=0.1)
    coarse = Probe("p", lambda: Call("rms_norm"), rtol=0.0, atol=0.1, coarse=True)
    right, banked, seen = observation(1), observation(2), observation(3)
    assert matches(coarse, seen, banked, right)
    assert not matches(fine, seen, banked, right)
    assert not matches(coarse, right, banked, right)
    assert not matches(coarse, observation(3, kind="b"), banked, right)


# ── observe ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Scripted:
    """A backend that ends every call in one way, and counts them."""

    name = "scripted"

    def __init__(self, end: StudentFault | Reply) -> None:
        self.end = end
        self.calls = 0

    def run(self, call: Call) -> Reply:
        self.calls += 1
        if isinstance(self.end, StudentFault):
            raise self.end
        return self.end


@pytest.mark.parametrize("outcome", [Outcome.EXCEPTION, Outcome.WRONG_INTERFACE, Outcome.FORBIDDEN])
def test_a_fault_is_an_observation(outcome: Outcome) -> None:
    seen = observe(Implementation(Scripted(StudentFault(outcome, "words"))), "rmsnorm")
    assert set(seen) == set(RIGHT["rmsnorm"])
    assert {o.kind for o in seen.values()} == {outcome.value}


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.CRASHED, Outcome.OUT_OF_MEMORY, Outcome.INFRASTRUCTURE])
def test_a_probe_that_hangs_or_dies_ends_the_observing(outcome: Outcome) -> None:
    backend = Scripted(StudentFault(outcome, "words"))
    assert observe(Implementation(backend), "rmsnorm") == {}
    assert backend.calls == 1


def test_a_reply_that_a_probe_cannot_read_is_an_observation() -> None:
    seen = observe(Implementation(Scripted(Reply())), "rmsnorm")
    assert set(seen) == set(RIGHT["rmsnorm"])
    assert seen["tokens"].kind == "unreadable: KeyError"
    scalar = "from torch import nn\nimport torch\nclass RMSNorm(nn.Module):\n"
    scalar += (
        "  def __init__(self, d, eps=1e-6):\n    super().__init__()\n    self.gamma = nn.Parameter(torch.ones(d))\n"
    )
    scalar += "  def forward(self, x): return x.mean()\n"
    names: dict[str, object] = {}
    exec(scalar, names)
    seen = observe(Implementation(LocalBackend(NamespaceSource(names, scalar), "notebook")), "rmsnorm")
    assert set(seen) == set(RIGHT["rmsnorm"])
    assert explain("rmsnorm", seen) == []


def test_a_diagnosis_names_a_mistake_with_its_evidence() -> None:
    specimen = next(s for s in REJECTED if s.name == "rejected/rmsnorm/centering")
    names: dict[str, object] = {}
    exec(compile(specimen.text, "specimen", "exec"), names)
    (found,) = diagnose(Implementation(LocalBackend(NamespaceSource(names), "notebook")), "rmsnorm")
    assert (found.id, found.evidence, found.share) == ("rmsnorm-centering", "output", 1.0)
    assert found.message == catalogue()["diagnosis"]["complete"]


# ── root causes ──────────────────────────────────────────────────────────────────────────────────────────────────────


def verdict(*mistakes: NamedMistake) -> Verdict:
    return Verdict("tests/t.py::t", "rmsnorm", Outcome.WRONG_VALUE, 0.0, 1.0, mistakes=mistakes)


def test_root_causes_come_once_numbers_first_and_the_larger_share_before_the_smaller() -> None:
    small = NamedMistake("rmsnorm-centering", "output", "", 0.25)
    large = NamedMistake("rmsnorm-in-place", "output", "", 0.75)
    guess = by_property("rmsnorm-extra-bias")
    causes = root_causes([verdict(guess), verdict(small, large), verdict(small, large, guess), verdict()])
    assert causes == [large, small, guess]
    assert guess.evidence == "property"


def test_numbers_replace_a_property_that_named_the_same_mistake_before() -> None:
    weak, strong = by_property("rmsnorm-centering"), NamedMistake("rmsnorm-centering", "output", "", 1.0)
    assert root_causes([verdict(weak), verdict(strong), verdict(weak)]) == [strong]
    assert root_causes([]) == []


def test_of_equal_shares_the_first_that_was_named_stays_first() -> None:
    first, second = (NamedMistake(f"rmsnorm-{name}", "output", "", 0.5) for name in ("centering", "all-axes"))
    assert root_causes([verdict(first, second)]) == [first, second]
    assert root_causes([verdict(second, first)]) == [second, first]
