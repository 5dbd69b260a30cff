"""The `nanolm` command: its sub-commands are found by entry point, so that each copy offers what it has."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points

from nanolm import __version__
from nanolm.untrusted import printable

GROUP = "nanolm.commands"

SUMMARIES = {
    "check": "run the tests on your exercises and print the scoreboard",
    "doctor": "say whether this machine is ready, and what to do if not",
    "watch": "run an exercise's tests each time you save its file",
    "experiment": "run one of the course's experiments on your exercises",
    "grade": "grade submissions: one table, and a JSON file",
    "regrade": "grade a round again after a change of tests: who gains, who loses, why",
    "report": "write grades for Canvas, Moodle, Gradescope, Autolab, Exercism, or as a table",
    "course": "collect and grade a class with nbgrader: verdicts, gradebook, feedback, overview",
    "verify": "prove the tests: every banked mistake dies and is named, right answers lose nothing",
    "demo": "build a class of submissions from the bank and grade it",
    "sync": "generate exercises/ from solutions/, or prove that it is current",
    "fingerprints": "store what each banked mistake gives on the probe inputs",
    "gpu": "run the GPU tests on an accelerator, or bundle them for another machine",
    "release": "write the students' copy",
    "notebooks": "make the notebooks of source/ and release/, or prove that they are current",
    "pull-requests": "give a students' repository feedback on pull requests",
}
"""Every sub-command of the project. Those that are not installed here are the instructors'."""

STUDENTS = ("check", "doctor", "experiment", "watch")


def commands() -> dict[str, EntryPoint]:
    """Installed sub-commands by name."""
    return {point.name: point for point in entry_points(group=GROUP)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one sub-command; returns its exit status (2: wrong usage)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    installed = commands()
    if not given or given[0] in ("-h", "--help"):
        print(usage(installed))
        return 0 if given else 2
    if given[0] in ("-V", "--version"):
        print(f"nanolm {__version__}")
        return 0
    name, *rest = given
    if name not in installed:
        print(_unknown(name, installed), file=sys.stderr)
        return 2
    command = installed[name].load()
    try:
        status = int(command(rest))
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `nanolm … | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def usage(installed: dict[str, EntryPoint]) -> str:
    """What this copy can do."""
    rows = [f"  {name:<13} {SUMMARIES.get(name, '')}" for name in sorted(installed)]
    return "usage: nanolm COMMAND [OPTIONS]   (nanolm COMMAND --help tells more)\n\n" + "\n".join(rows)


def _unknown(name: str, installed: dict[str, EntryPoint]) -> str:
    shown = printable(name, 40)
    if name in SUMMARIES and name not in STUDENTS:
        return f"nanolm {shown} is an instructors' command: the students' copy does not have it.\n\n{usage(installed)}"
    return f"there is no command {shown!r}.\n\n{usage(installed)}"


if __name__ == "__main__":
    sys.exit(main())
