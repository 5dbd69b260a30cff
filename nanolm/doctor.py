"""`nanolm doctor`: is this machine ready? Each line is one thing, and what to do about it when it is not well."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.metadata import entry_points
from pathlib import Path

from nanolm.course import course_above
from nanolm.environment import INSTALL, environment_problem
from nanolm.implementation import UnknownImplementation, choose

PACKAGES = ("torch", "numpy", "einops", "jaxtyping", "pytest", "hypothesis", "safetensors")
GROUP = "nanolm.doctor"


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's report; `advice` is empty where all is well."""

    subject: str
    state: str
    advice: str = ""


def command(arguments: Sequence[str]) -> int:
    """Print the report; exit status 1 where something must be done."""
    parser = argparse.ArgumentParser(prog="nanolm doctor", description="Say whether this machine is ready.")
    parser.parse_args(arguments)
    findings = list(report())
    for finding in findings:
        mark = "!!" if finding.advice else "ok"
        print(f"{mark}  {finding.subject:<16} {finding.state}")
        if finding.advice:
            print(f"    {'':<16} → {finding.advice}")
    return 1 if any(finding.advice for finding in findings) else 0


def report() -> Iterator[Finding]:
    """Findings of the course kit, then those that other packages add by entry point."""
    python = f"{platform.python_version()} at {sys.executable}"
    yield Finding("Python", python, environment_problem(look_up=False) or "")
    for name in PACKAGES:
        yield _package(name)
    yield _torch_works()
    yield _implementation()
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        more: Callable[[], Iterator[Finding]] = point.load()
        yield from more()


def _package(name: str) -> Finding:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, "not installed", f"run `{INSTALL}` in the folder of the exercises")
    return Finding(name, version, (environment_problem(torch=version) or "") if name == "torch" else "")


def _torch_works() -> Finding:
    try:
        import torch

        value = float((torch.ones(4) * 2).sum())
        cuda = "yes" if torch.cuda.is_available() else "no (not needed)"
    except Exception as error:
        return Finding(
            "torch works", f"no: {error!r}"[:200], "install torch again: `pip install --force-reinstall torch`"
        )
    return Finding("torch works", f"yes, CUDA: {cuda}", "" if value == 8.0 else "torch computes wrongly: reinstall it")


def _implementation() -> Finding:
    name = os.environ.get("NANOLM_IMPL", "exercises (NANOLM_IMPL is not set)")
    try:
        choice = choose(course_above(Path.cwd()) or Path.cwd())
    except UnknownImplementation as error:
        return Finding("implementation", repr(name)[:80], str(error))
    return Finding("implementation", f"{choice.package} at {choice.folder}")
