"""Options of `nanolm grade` that write reports as files."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.reports.location import Sources
    from grader.results import SubmissionResult

OK, USAGE = 0, 2

FORMATS = {
    "junit": "write JUnit XML",
    "code_quality": "write GitLab's code quality JSON",
    "summary": "write the Markdown summary",
}
"""Options that take a FILE, by the name that argparse gives them."""


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """The options, at the end of a command's own."""
    for name, words in FORMATS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=Path, metavar="FILE", help=words)
    parser.add_argument(
        "--github",
        action="store_true",
        help="in a job of GitHub Actions: write summary, annotations, checks and the pull request's comment; "
        "without PATH, grade what a pull request's run has handed over",
    )


def unwritable_report(options: argparse.Namespace, why: Callable[[Path], str | None]) -> str | None:
    """The first report that cannot be written, and why; asked before anything is graded."""
    for name in FORMATS:
        path = getattr(options, name)
        if path is not None and (problem := why(path)):
            return f"--{name.replace('_', '-')}: {problem}"
    return None


def report_run(options: argparse.Namespace, paths: Sequence[Path], results: Sequence[SubmissionResult]) -> int:
    """Write every report that was asked for; returns an exit status."""
    if not (options.github or any(getattr(options, name) for name in FORMATS)):
        return OK
    from grader.reports.location import sources_of

    base = Path(os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or Path.cwd())
    # A roster can add rows and change their order: only then is a row without a file, and its place unknown.
    same = len(paths) == len(results) and not options.roster
    sources = [sources_of(path, base) for path in paths] if same else [{} for _ in results]
    status = write_reports(options, results, sources)
    if options.github:
        from grader.github.command import report_named

        status = report_named(results, sources) or status
    return status


def write_reports(options: argparse.Namespace, results: Sequence[SubmissionResult], sources: Sequence[Sources]) -> int:
    """Write the files; a file that cannot be written is told, and the others are written all the same."""
    from grader.reports.gitlab import code_quality
    from grader.reports.junit import junit_xml
    from grader.reports.markdown import summary

    made: dict[str, Callable[[], str]] = {
        "junit": lambda: junit_xml(results, sources),
        "code_quality": lambda: json.dumps(code_quality(results, sources), indent=1, ensure_ascii=False) + "\n",
        "summary": lambda: summary(results),
    }
    status = OK
    for name, text in made.items():
        path = getattr(options, name)
        if path is None:
            continue
        try:
            path.write_text(text(), encoding="utf-8")
        except OSError as error:
            print(f"nanolm grade: {str(path)!r} could not be written: {error.strerror}", file=sys.stderr)
            status = USAGE
    return status
