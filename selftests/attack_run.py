"""`nanolm grade` as test_attacks.py runs it: each submission for its own exercises only, with short limits.

Run as `python -m selftests.attack_run EXERCISES.json ARGUMENTS…`; the file maps names of submissions to exercises.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader import commands, grading
from grader.job import Job
from grader.pool import grade_all
from grader.remote import Limits
from grader.results import SubmissionResult

# The wall limit is for those that wait, so it must leave room for a busy machine with a cold disk.
LIMITS = Limits(cpu_seconds=0.6, wall_seconds=3.0)


def main(exercises: Mapping[str, Sequence[str]], arguments: Sequence[str]) -> int:
    def quick(jobs: Sequence[Job], *others: Any, **named: Any) -> list[SubmissionResult]:
        mine = [replace(job, exercises=tuple(exercises.get(job.name, ("rmsnorm",)))) for job in jobs]
        return grade_all(mine, *others, **named, limits=LIMITS)

    grading.grade_all = quick  # type: ignore[assignment]
    return commands.grade(arguments)


if __name__ == "__main__":
    sys.exit(main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), sys.argv[2:]))
