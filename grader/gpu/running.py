"""What a run of the GPU job can be told, and the run itself: here, and from a bundle that has torch and NumPy alone."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from grader.files import write_json
from grader.gpu.job import MINUTES, Plan, device_problem, lines, run_job
from grader.gpu.session import EXERCISES
from grader.job import Job
from grader.session import Settings

OK, USAGE, UNGRADABLE, CANNOT_START = 0, 2, 3, 4


def add_run_options(made: argparse.ArgumentParser) -> None:
    """What a bundle can be told too."""
    made.add_argument("--device", default="cuda", metavar="DEVICE", help="cuda, cuda:N, or cpu for a rehearsal")
    made.add_argument("--exercise", action="append", choices=EXERCISES, metavar="ID", help="only this exercise")
    made.add_argument("--minutes", type=float, default=MINUTES, metavar="N",
                      help=f"what is not done by then is not_run_here (default: {MINUTES:g})")  # fmt: skip
    made.add_argument("--only-gpu-tests", action="store_true", help="leave out the ordinary tests of the exercises")
    made.add_argument("--no-bandwidth", action="store_true", help="measure no memory bandwidth")
    made.add_argument("--tests", action="append", default=[], metavar="WORD", help="only tests with WORD in their name")
    made.add_argument("--round", default="practice", metavar="NAME", help="as for nanolm grade")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the verdicts, for nanolm grade --gpu FILE")


def plan_of(options: argparse.Namespace, root: Path) -> Plan:
    """What the options ask for."""
    exercises = tuple(name for name in EXERCISES if name in (options.exercise or EXERCISES))
    settings = Settings(root, exercises, options.round, os.environ.get("NANOLM_SECRET", "").encode())
    return Plan(
        settings, options.device, options.minutes, options.only_gpu_tests, not options.no_bandwidth,
        tuple(options.tests),
    )  # fmt: skip


def run(jobs: Sequence[Job], plan: Plan, json_file: Path | None) -> int:
    """Run a plan, print its table, write its file; 4 where the device is not there, 3 where nothing could be read."""
    if problem := device_problem(plan.device):
        print(f"nanolm gpu: {problem}", file=sys.stderr)
        return CANNOT_START
    if json_file is not None and not json_file.resolve().parent.is_dir():
        print(f"nanolm gpu: --json: there is no folder {str(json_file.resolve().parent)!r}", file=sys.stderr)
        return USAGE
    data = run_job(jobs, plan, say=lambda line: print(line, flush=True))
    print()
    for line in lines(data):
        print(line)
    if json_file is not None:
        write_json(json_file, data)
        print(f"The verdicts are in {json_file}: nanolm grade --gpu {json_file} … takes them.")
    return UNGRADABLE if any(submission["ungradable"] for submission in data["submissions"]) else OK
