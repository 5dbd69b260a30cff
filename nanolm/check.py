"""`nanolm check`: the student's loop in one word. Runs pytest on the exercises, whatever NANOLM_IMPL says elsewhere."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from nanolm.course import EXERCISES, course_above
from nanolm.implementation import DEFAULT, VARIABLE


def command(arguments: Sequence[str]) -> int:
    """Run the graded tests; returns pytest's exit status."""
    parser = argparse.ArgumentParser(prog="nanolm check", description="Run the tests on your exercises.")
    parser.add_argument("-v", "--verbose", action="store_true", help="one line a test")
    options, root = parse(parser, arguments)
    import pytest

    os.chdir(root)
    os.environ.setdefault(VARIABLE, DEFAULT)
    chosen = [f"--exercise={name}" for name in options.exercise]
    return int(pytest.main([*chosen, "-v" if options.verbose else "-q", "tests"]))


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> tuple[argparse.Namespace, Path]:
    """The options of a command on exercises (`exercise`: those that are named), and the folder that holds the tests.

    Wrong ones end the program with what to do.
    """
    parser.add_argument("exercise", nargs="*", metavar="EXERCISE", help=f"only these: {', '.join(EXERCISES)}")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.exercise if name not in EXERCISES]
    if unknown:
        parser.error(f"unknown exercise {unknown[0]!r}: there are {', '.join(EXERCISES)}")
    root = course_above(Path.cwd())
    if root is None:
        parser.error("there is no tests/ folder here or above: go to the folder of the exercises")
    return options, root
