"""The bank of `mistakes/gpu/`: right on the CPU, named where the device matters, and right answers stay right there."""

from __future__ import annotations

import re

import pytest

from grader.bank import Specimen, package_job, read_bank, read_gpu_bank
from grader.gpu.session import EXERCISES
from grader.pool import grade_all
from grader.session import Settings
from nanolm.course import EXERCISES as COURSE
from nanolm.protocol import Outcome
from nanolm.texts import catalogue
from nanolm.verdict import Verdict
from selftests.gpu_rehearsal import ROOT, rehearsed

BANK = read_gpu_bank(ROOT)
REJECTED = [specimen for specimen in BANK if specimen.kind == "rejected"]
ACCEPTED = [specimen for specimen in BANK if specimen.kind == "accepted"]
ORDINARY = {specimen.name: specimen for specimen in read_bank(ROOT)}

ON_BOTH = {
    "rejected/rmsnorm/low-precision": "precise",
    "rejected/rmsnorm/late-widening": "precise",
    "rejected/rmsnorm/detached-statistics": "gradients",
    "rejected/qk_norm/late-widening": "precise",
    "rejected/mhc/low-precision": "precise",
    "rejected/mhc/detached-sinkhorn": "gradients",
    "rejected/gpt_oss/swapped-gate-up": "precise",
    "rejected/gpt_oss/wrong-dtype": "precise",
    "rejected/swiglu/relu-gate": "precise",
}
"""Mistakes of the ordinary bank, and the GPU test that shows them too."""

RIGHT_BUT = {
    "accepted/mhc/while-loop": ("never_waits", "mhc-host-sync"),
    "accepted/swiglu/masked-assignment": ("never_waits", "swiglu-host-sync"),
    "accepted/rmsnorm/matmul-dot": ("under_autocast", "rmsnorm-narrowed-statistics"),
}
"""Right answers that earn every point, and what a GPU says of them all the same: docs/gpu.md tells it."""


@pytest.fixture(scope="module")
def verdicts() -> dict[str, dict[str, Verdict]]:
    """Everything on the CPU as if it were a GPU, in one session."""
    jobs = [specimen.job(ROOT) for specimen in BANK]
    jobs += [ORDINARY[name].job(ROOT) for name in (*ON_BOTH, *RIGHT_BUT)]
    # The two banks may hold the same label.
    renamed = [
        type(job)(f"gpu/{job.name}" if n < len(BANK) else job.name, job.texts, exercises=job.exercises)
        for n, job in enumerate(jobs)
    ]
    return rehearsed([*renamed, package_job(ROOT, "solutions", "reference"), package_job(ROOT, "exercises", "stub")])


def test_the_reference_passes_every_gpu_test(verdicts: dict[str, dict[str, Verdict]]) -> None:
    reference = verdicts["reference"]
    assert len(reference) == 6 * len(EXERCISES)
    assert {v.message for v in reference.values()} == {""}
    assert {v.outcome for v in reference.values()} == {Outcome.PASSED}
    assert {v.max_score for v in reference.values()} == {0.0}


def test_the_stub_has_attempted_nothing(verdicts: dict[str, dict[str, Verdict]]) -> None:
    assert {v.outcome for v in verdicts["stub"].values()} == {Outcome.NOT_ATTEMPTED}


@pytest.mark.parametrize("specimen", REJECTED, ids=lambda specimen: specimen.name)
def test_a_mistake_is_named_by_every_test_that_claims_it(
    verdicts: dict[str, dict[str, Verdict]], specimen: Specimen
) -> None:
    (mistake,) = specimen.mistakes
    found = verdicts[f"gpu/{specimen.name}"]
    claiming = [v for v in found.values() if mistake in v.catches]
    assert claiming, f"no GPU test claims {mistake}"
    for verdict in claiming:
        assert verdict.outcome not in (Outcome.PASSED, Outcome.NOT_RUN_HERE), verdict.test
        assert [named.id for named in verdict.mistakes] == [mistake]
        assert f"Mistake: {mistake}" in verdict.message
        assert verdict.message.count("Ask yourself: ") == 1
    # Where another test fails too, it says the same, or what PyTorch says of a value that a graph needs.
    others = {named.id for v in found.values() for named in v.mistakes} - {mistake}
    assert others <= ({f"{specimen.exercise}-graph-break"} if mistake.endswith("host-sync") else set())
    assert any(v.outcome is Outcome.PASSED for v in found.values())


@pytest.mark.parametrize("specimen", ACCEPTED, ids=lambda specimen: specimen.name)
def test_a_right_answer_stays_right(verdicts: dict[str, dict[str, Verdict]], specimen: Specimen) -> None:
    wrong = {v.test: v.message for v in verdicts[f"gpu/{specimen.name}"].values() if v.outcome is not Outcome.PASSED}
    assert wrong == {}


@pytest.mark.parametrize("name", ON_BOTH)
def test_mistakes_of_the_cpu_keep_their_names(verdicts: dict[str, dict[str, Verdict]], name: str) -> None:
    (mistake,) = ORDINARY[name].mistakes
    verdict = verdicts[name][f"test_{ORDINARY[name].exercise}_gpu_{ON_BOTH[name]}"]
    assert verdict.outcome is not Outcome.PASSED
    assert verdict.mistakes[0].id == mistake
    assert verdict.mistakes[0].evidence == "output"


@pytest.mark.parametrize("name", RIGHT_BUT)
def test_what_a_gpu_says_of_right_answers(verdicts: dict[str, dict[str, Verdict]], name: str) -> None:
    test, mistake = RIGHT_BUT[name]
    verdict = verdicts[name][f"test_{ORDINARY[name].exercise}_gpu_{test}"]
    assert [named.id for named in verdict.mistakes] == [mistake]
    assert verdict.max_score == 0


def test_the_bank_is_right_on_the_cpu() -> None:
    """No point of it hangs on a GPU: there, and only there, is it wrong."""
    jobs = [specimen.job(ROOT) for specimen in BANK]
    results = grade_all(jobs, Settings(ROOT, EXERCISES), lambda result: None)
    assert len(results) == len(BANK)
    for specimen, result in zip(BANK, results, strict=True):
        wrong = [v for v in result.verdicts if v.outcome not in (Outcome.PASSED, Outcome.NOT_RUN_HERE)]
        assert wrong == [], (specimen.name, [v.message for v in wrong])
        assert result.score == COURSE[specimen.exercise].points
        assert result.root_causes == []
        gpu = [v for v in result.verdicts if v.outcome is Outcome.NOT_RUN_HERE]
        assert len(gpu) == 6
        assert {v.message for v in gpu} == {"there is no accelerator here; this test carries no points."}


def test_every_mistake_of_the_bank_is_told_and_every_kind_is_there() -> None:
    ids = {mistake for specimen in REJECTED for mistake in specimen.mistakes}
    told = catalogue()["mistakes"]
    assert all(told[name]["question"].endswith("?") for name in ids)
    for slug in ("cpu-tensor", "host-sync", "graph-break"):
        assert {f"{exercise}-{slug}" for exercise in EXERCISES} <= ids
    page = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z_]+-[a-z0-9-]+)` \|", page, re.MULTILINE)) == ids
