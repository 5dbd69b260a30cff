"""`nanolm notebooks`: write source/ and release/, or prove that they are current."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from grader.commands import CANNOT_START, FAILED, OK
from grader.house import HouseError, find_root


def command(arguments: Sequence[str]) -> int:
    """Write the notebooks that differ, or with --check only say which do."""
    parser = argparse.ArgumentParser(
        prog="nanolm notebooks", description="Make the notebooks of source/ and release/ from their texts."
    )
    parser.add_argument("--course", type=Path, metavar="DIR", help="the course folder (default: found from here)")
    parser.add_argument("--check", action="store_true", help="change nothing; exit status 1 where one is out of date")
    options = parser.parse_args(arguments)
    try:
        return _made_or_checked(find_root(options.course), check=options.check)
    except HouseError as error:
        print(f"nanolm: {error}", file=sys.stderr)
        return CANNOT_START
    except ModuleNotFoundError as error:
        missing = (error.name or "nbgrader").partition(".")[0]
        needed = "run `make setup`, or `pip install '.[notebooks]'`"
        print(f"nanolm: the notebooks need {missing}, which is not installed: {needed}", file=sys.stderr)
        return CANNOT_START


def _made_or_checked(root: Path, *, check: bool) -> int:
    from grader.authoring.answers import AuthoringError
    from grader.authoring.build import differences, write

    try:
        found = differences(root) if check else write(root)
    except AuthoringError as error:
        print(f"nanolm notebooks: {error}", file=sys.stderr)
        return FAILED
    if not check:
        print("written: " + ", ".join(found) if found else "nothing to change")
        return OK
    for name in found:
        print(f"PROBLEM  {name} is not what its text makes: run `nanolm notebooks`")
    if not found:
        print("source/ and release/ hold the notebooks that their texts make")
    return FAILED if found else OK
