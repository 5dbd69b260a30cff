"""Builds `nanolm/fingerprints.safetensors`: what each banked mistake, and the reference, gives on the probe inputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from grader.bank import given, read_bank
from grader.isolation import open_zygote
from grader.remote import WorkerBackend
from grader.sandbox import BEST
from nanolm import diagnosis
from nanolm.course import EXERCISES
from nanolm.diagnosis import FINGERPRINTS, REFERENCE, SEPARATOR, Observation, observe
from nanolm.implementation import Implementation
from nanolm.probes import PROBES

Bank = dict[str, dict[str, dict[str, Observation]]]


def observe_bank(root: Path, on_step: Callable[[], None] = lambda: None) -> Bank:
    """Run the probes of every exercise on the reference and on each rejected specimen, in workers."""
    seen: Bank = {}
    with open_zygote(BEST, root) as zygote:
        for name, exercise in EXERCISES.items():
            solution = (root / "solutions" / exercise.file).read_text(encoding="utf-8")
            texts = {REFERENCE: solution}
            texts |= {s.label: s.text for s in read_bank(root) if s.kind == "rejected" and s.exercise == name}
            seen[name] = {}
            for label, text in texts.items():
                backend = WorkerBackend(zygote, {exercise.file: text} | given(root))
                backend.start_test()
                try:
                    seen[name][label] = observe(Implementation(backend), name)
                finally:
                    backend.end()
                on_step()
    return seen


def write(bank: Bank, path: Path = FINGERPRINTS) -> None:
    """Write the fingerprints; numbers only. What a mistake has in common with the reference is written once."""
    tensors: dict[str, NDArray[np.float32]] = {}
    kinds: dict[str, str | None] = {}
    for name, labels in bank.items():
        right = labels[REFERENCE]
        for label, observations in labels.items():
            for probe in right.keys() | observations.keys():
                key, seen = SEPARATOR.join((name, label, probe)), observations.get(probe)
                if seen is None:
                    kinds[key] = None
                elif label == REFERENCE or not _alike(seen, right.get(probe)):
                    tensors[key] = np.ascontiguousarray(seen.numbers, dtype=np.float32)
                    kinds[key] = seen.kind
    labelled = {name: sorted(labels) for name, labels in bank.items()}
    metadata = {"kinds": json.dumps(kinds, sort_keys=True), "labels": json.dumps(labelled, sort_keys=True)}
    save_file(tensors, path, metadata=metadata)
    path.chmod(0o644)
    diagnosis.fingerprints.cache_clear()


def _alike(seen: Observation, right: Observation | None) -> bool:
    """Whether both would be stored as the same numbers."""
    if right is None or seen.kind != right.kind:
        return False
    return np.array_equal(seen.numbers.astype(np.float32), right.numbers.astype(np.float32), equal_nan=True)


def differences(bank: Bank) -> list[str]:
    """Where the stored fingerprints are not what the bank gives now, to each probe's own tolerance."""
    problems = []
    for name, labels in bank.items():
        stored: Mapping[str, Mapping[str, Observation]] = diagnosis.fingerprints(name)
        problems += [f"{name}/{label} is stored but not in the bank" for label in sorted(set(stored) - set(labels))]
        right = labels[REFERENCE]
        for label, observations in labels.items():
            for probe in PROBES[name]:
                now, then = observations.get(probe.name), stored.get(label, {}).get(probe.name)
                if now is None or then is None or not diagnosis.matches(probe, now, then, right[probe.name]):
                    problems.append(f"{name}/{label}: {probe.name} is not what is stored: run `make fingerprints`")
    return problems
