"""The last thing a worker does before it reads a submission: give up what it does not need, for good."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader import linux
from grader.sandbox import Level, landlock, seccomp
from grader.sandbox.view import DEVICES


@dataclass(frozen=True)
class Confinement:
    """How a worker shuts itself in; made by the grader, the same for all workers of a zygote."""

    level: Level
    readable: tuple[Path, ...] = ()
    program: bytes = b""


def lock_down(confinement: Confinement, own: Path) -> None:
    """Apply what the level asks for. Raises OSError: the grader then sees a worker that never got ready."""
    if confinement.level is Level.WEAK:
        return
    linux.drop_capabilities()
    landlock.restrict(confinement.readable, own, DEVICES)
    seccomp.load(confinement.program)
