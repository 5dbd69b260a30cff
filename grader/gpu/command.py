"""`nanolm gpu`: the GPU job here, or a bundle of it for a machine on which nothing can be installed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from grader.bank import package_job, read_bank, read_gpu_bank
from grader.gpu.running import CANNOT_START, OK, add_run_options, plan_of, run
from grader.gpu.session import EXERCISES
from grader.grading import read_jobs
from grader.house import HouseError, find_root
from grader.job import Job
from grader.session import CannotStart
from grader.submissions import SubmissionUsageError, class_entries
from nanolm.course import exercise_files
from nanolm.implementation import UnknownImplementation, choose
from nanolm.untrusted import printable


def parser() -> argparse.ArgumentParser:
    """The command line, here and in a bundle."""
    made = argparse.ArgumentParser(
        prog="nanolm gpu",
        description="Run the GPU tests, and the ordinary tests of the same exercises, on an accelerator. Without a "
        "path: what NANOLM_IMPL names.",
    )
    made.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="a submission: folder, zip or exercise file")
    made.add_argument("--class", dest="classes", action="append", type=Path, default=[], metavar="DIR",
                      help="every submission of DIR")  # fmt: skip
    made.add_argument("--course", type=Path, metavar="DIR", help="the course folder (default: found from here)")
    made.add_argument("--bank", action="store_true",
                      help="add the bank's mistakes that only an accelerator shows: are they named there?")  # fmt: skip
    add_run_options(made)
    made.add_argument("--bundle", type=Path, metavar="FILE.pyz",
                      help="write the job as one file for a machine that has torch and NumPy alone")  # fmt: skip
    return made


def gpu(arguments: Sequence[str]) -> int:
    """Run the sub-command; returns its exit status."""
    made = parser()
    options = made.parse_args(arguments)
    for path in options.paths:
        if not os.path.lexists(path):
            made.error(f"there is nothing at {str(path)!r}")
    try:
        root = find_root(options.course, [*options.paths, *options.classes])
        jobs = _jobs(made, options, root)
        if options.bank:
            jobs += bank_jobs(root)
        if options.bundle is not None:
            from grader.gpu.bundle import BundleError, write_bundle

            try:
                size = write_bundle(root, jobs, options.bundle)
            except BundleError as error:
                made.error(f"--bundle: {error}")
            print(
                f"{options.bundle}: {len(jobs)} submissions, {size / 1e6:.1f} MB. There: python {options.bundle.name}"
            )
            return OK
        return run(jobs, plan_of(options, root), options.json)
    except (CannotStart, HouseError) as error:
        print(f"nanolm: {error}", file=sys.stderr)
        return CANNOT_START


def _jobs(made: argparse.ArgumentParser, options: argparse.Namespace, root: Path) -> list[Job]:
    """Submissions that were named, or the implementation that NANOLM_IMPL names."""
    try:
        paths = [*options.paths, *(entry for folder in options.classes for entry in class_entries(folder))]
    except SubmissionUsageError as error:
        made.error(str(error))
    if options.classes and not paths:
        made.error(f"--class: {printable(str(options.classes[0]))} holds no submission")
    if paths:
        return read_jobs(paths, root)
    try:
        choice = choose(root)
    except UnknownImplementation as error:
        raise CannotStart(str(error)) from None
    missing = [file for file in exercise_files() if not (choice.folder / file).is_file()]
    if missing:
        return read_jobs([choice.folder], root)
    return [package_job(root, choice.package, choice.package)]


def bank_jobs(root: Path) -> list[Job]:
    """The bank of `mistakes/gpu/`, and of the other bank what half precision is about, each for its one exercise."""
    about_precision = ("low-precision", "late-widening")
    ordinary = (
        specimen
        for specimen in read_bank(root)
        if specimen.kind == "rejected" and specimen.exercise in EXERCISES and specimen.label in about_precision
    )
    return [specimen.job(root) for specimen in (*read_gpu_bank(root), *ordinary)]
