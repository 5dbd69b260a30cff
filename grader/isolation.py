"""From the level that was asked for to a zygote that has proven it."""

from __future__ import annotations

from pathlib import Path

from grader.sandbox import acceptable
from grader.workers import InfrastructureError, IsolationError, Zygote

SECRET_FOLDERS = ("tests", "solutions", "mistakes", "selftests", "source")
"""Folders of the course that no worker may see: oracles, answers, and what a hostile submission could learn from."""


def hidden(root: Path) -> tuple[Path, ...]:
    """What of a course's folder workers must not see."""
    return tuple(root / name for name in SECRET_FOLDERS if (root / name).exists())


def open_zygote(asked: str, root: Path) -> Zygote:
    """A started zygote of that level, or for `best` of the highest that can be had here.

    Raises IsolationError where none can be had that satisfies what was asked for.
    """
    refusals = []
    for level in acceptable(asked):
        zygote = Zygote(level, hidden(root))
        try:
            zygote.start()
        except InfrastructureError as error:  # a bwrap that the kernel refuses ends before it can say more
            refusals.append(str(error))
            continue
        return zygote
    raise IsolationError(
        f"{'; '.join(refusals)}. `nanolm doctor` says what this machine offers; `--isolation best` takes it."
    )
