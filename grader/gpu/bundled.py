"""The start of a bundle on the machine that runs it: its options, its submissions, the job."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from grader.gpu.running import CANNOT_START, add_run_options, plan_of, run
from grader.job import Job
from grader.session import CannotStart


def main(folder: Path) -> int:
    """Run the job that was laid out in `folder`."""
    made = argparse.ArgumentParser(description="The GPU job of nanolm exercises; it installs nothing.")
    add_run_options(made)
    options = made.parse_args()
    try:
        return run(read_jobs(folder / "jobs.json"), plan_of(options, folder / "course"), options.json)
    except CannotStart as error:
        print(f"nanolm: {error}", file=sys.stderr)
        return CANNOT_START


def read_jobs(path: Path) -> list[Job]:
    """The submissions that the bundle carries, as they were read when it was made."""
    read = json.loads(path.read_text(encoding="utf-8"))
    exercises = [None if data["exercises"] is None else tuple(data["exercises"]) for data in read]
    return [
        Job(**{**data, "notes": tuple(data["notes"]), "exercises": chosen})
        for data, chosen in zip(read, exercises, strict=True)
    ]
