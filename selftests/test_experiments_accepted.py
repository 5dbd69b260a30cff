"""`nanolm experiment` on every right answer of the bank: however it is written, the course's numbers come out.

An experiment may hand an answer only what the graded tests hand it, modules where they hand modules, and ask only for
the precision that the contract asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from grader.bank import Specimen, given, read_bank, texts_with
from nanolm.course import EXERCISES
from nanolm.experiments import EXPERIMENTS
from nanolm.experiments.lab import Unfinished, run
from nanolm.sources import TextSource

ROOT = Path(__file__).resolve().parent.parent
ACCEPTED = [specimen for specimen in read_bank(ROOT) if specimen.kind == "accepted"]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Arrays this small gain nothing from a second thread, and where cores are shared the two wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_right_answer_gives_the_courses_numbers(exercise: str) -> None:
    names = [name for name, experiment in EXPERIMENTS.items() if exercise in experiment.needs]
    variants = [specimen for specimen in ACCEPTED if specimen.exercise == exercise]
    assert names
    assert len(variants) >= 20
    assert [fault for specimen in variants for fault in _faults(specimen, names)] == []


def _faults(specimen: Specimen, names: list[str]) -> list[str]:
    """What the experiments say about one right answer beside the reference's other exercises; nothing, if all agree."""
    source = TextSource({**texts_with(ROOT, specimen), **given(ROOT)})
    source.install()
    faults = []
    try:
        for name in names:
            try:
                result = run(EXPERIMENTS[name], source)
            except Unfinished as unfinished:
                faults.append(f"{name} on {specimen.name}: {unfinished}")
                continue
            wrong = [f"{number.name}: {number.value}" for number in result.numbers if not number.agrees]
            wrong += [claim.statement for claim in result.claims if not claim.holds]
            faults += [f"{name} on {specimen.name}: {fault}" for fault in wrong]
    finally:
        source.uninstall()
    return faults
