"""The doctor's lines on isolation: which levels this machine offers, each tried out with canaries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.isolation import hidden
from grader.sandbox import Level
from grader.workers import InfrastructureError, Zygote
from nanolm.course import course_above
from nanolm.doctor import Finding

ADVICE = {
    Level.FULL: "`nanolm grade` refuses to start: mend this, or say --isolation medium if you accept it",
    Level.MEDIUM: "only --isolation weak is left: grade nothing here that you would not run yourself",
    Level.WEAK: "no worker starts at all: nothing can be graded here",
}
"""What the lack of a level means."""


def report() -> Iterator[Finding]:
    """One line a level."""
    course = course_above(Path.cwd())
    secrets = hidden(course) if course else ()
    for level in Level:
        zygote = Zygote(level, secrets)
        try:
            with zygote:
                tried = len(zygote.canaries([str(path) for path in secrets])) if level is not Level.WEAK else 0
        except InfrastructureError as error:
            yield Finding(f"isolation {level}", f"no: {error}"[:400], ADVICE[level])
        else:
            proof = (
                f"yes: {tried} canaries tried, none got out" if tried else "yes: a process with limits, nothing more"
            )
            yield Finding(f"isolation {level}", proof)
