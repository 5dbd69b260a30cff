"""How far a worker is shut in: three levels, what each is made of, and the proof that it holds.

- `full`: the zygote lives in a bubblewrap (own file view, process ids, network) and each worker adds what `medium` has.
- `medium`: each worker confines itself with Landlock (files, signals), seccomp (system calls) and no capabilities.
- `weak`: a process of its own with limits on memory, time and file size, and nothing else.
"""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """A level of isolation; a verdict answers for its level and those below it."""

    FULL = "full"
    MEDIUM = "medium"
    WEAK = "weak"

    @property
    def rank(self) -> int:
        """Higher is tighter."""
        return {Level.WEAK: 0, Level.MEDIUM: 1, Level.FULL: 2}[self]


BEST = "best"
"""Asks for the highest level that this machine offers."""

BEST_MEDIUM = "best-medium"
"""The highest level that this machine offers, and nothing below medium: for CI."""

CHOICES = (*(level.value for level in Level), BEST, BEST_MEDIUM)


def acceptable(asked: str) -> list[Level]:
    """The levels that satisfy what was asked for, the tightest first."""
    if asked == BEST:
        return list(Level)
    if asked == BEST_MEDIUM:
        return [Level.FULL, Level.MEDIUM]
    return [Level(asked)]
