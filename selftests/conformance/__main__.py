"""Print the conformance table as Markdown, on Python 3.12: `python -m selftests.conformance > docs/conformance.md`."""

from __future__ import annotations

import sys

from grader.bank import given
from grader.job import Job
from grader.pool import grade_all
from grader.session import Settings
from nanolm.course import EXERCISES
from selftests.conformance.field import version
from selftests.test_conformance import ROOT, everything

HEAD = f"""# Conformance with code that the field runs

Classes of `transformers` {version()}, read from the installed package when the tests run (nothing of them is copied),
wrapped as a student's file and graded like one. `selftests/test_conformance.py` holds every row: what follows the
contract earns all points, what differs is named for it. *Copies* counts classes of other families with the same body.

The two rows named *gpt-oss reference* are of the `gpt-oss` package itself. It needs Python 3.12 or later: on 3.11 the
tests skip these two, and say so.

| class | exercise | copies | points | named |
|---|---|---|---|---|"""


def main() -> None:
    """Grade everything and print one row each."""
    if sys.version_info < (3, 12):
        sys.exit("two rows of the table need Python 3.12: the gpt-oss package is not installed below it")
    wrapped = everything()
    jobs = [
        Job(one.name, {EXERCISES[one.exercise].file: one.text} | given(ROOT), exercises=(one.exercise,))
        for one in wrapped
    ]
    print(HEAD)
    for one, result in zip(wrapped, grade_all(jobs, Settings(ROOT)), strict=True):
        named = ", ".join(cause.id for cause in result.root_causes) or "–"
        print(f"| {one.name} | {one.exercise} | {one.copies} | {result.score:g} / {result.max_score:g} | {named} |")


if __name__ == "__main__":
    main()
