"""`nanolm report FORMAT GRADES`: grades in the format that a gradebook, a platform or a person reads."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.commands import CANNOT_START, OK, UNGRADABLE, USAGE
from grader.files import write_text
from grader.house import HouseError, find_root
from grader.late import EXAMPLE, Deadline, LatePolicy, LatePolicyError, parse_time
from grader.ledger import LedgerError
from grader.reports import canvas, gradescope_zip, moodle
from grader.reports.autolab import autolab
from grader.reports.cells import SheetError, looks_like_formula, read_sheet
from grader.reports.exercism import exercism, read_test_code
from grader.reports.gradebook import Filled
from grader.reports.gradescope import VISIBILITIES, gradescope
from grader.reports.junit import junit_xml
from grader.reports.reading import GradesError, read_grades, read_ledger
from grader.reports.rows import GRADED, SEVERAL, Row, class_rows, read_extensions, read_times, without_time
from grader.reports.spreadsheet import spreadsheet
from grader.results import SubmissionResult
from grader.roster import RosterError, read_roster
from nanolm.course import EXERCISES
from nanolm.untrusted import listed, printable

Options = argparse.Namespace


class UsageError(ValueError):
    """The command was called in a way that cannot work; the text says what to do."""


@dataclass(frozen=True)
class Report:
    """What a format made: the text of the file, what there is to say beside it, and whether everybody has a grade."""

    text: str
    remarks: tuple[str, ...] = ()
    complete: bool = True


@dataclass(frozen=True)
class Format:
    """A format: what it is for, its example, what makes it, and which groups of options it takes."""

    about: str
    example: str
    make: Callable[[Sequence[SubmissionResult], Options], Report]
    options: tuple[Callable[[argparse.ArgumentParser], None], ...] = ()


# ── What makes each format ───────────────────────────────────────────────────────────────────────────────────────────


def _csv(results: Sequence[SubmissionResult], options: Options) -> Report:
    rows, remarks = _rows(results, options)
    return Report(spreadsheet(rows), remarks, all(row.status == GRADED for row in rows))


def _canvas(results: Sequence[SubmissionResult], options: Options) -> Report:
    rows, remarks = _rows(results, options)
    if options.gradebook:
        sheet = read_sheet(options.gradebook, canvas.NEEDS)
        return _filled(canvas.filled(sheet, rows, options.assignment, options.match, options.scale), remarks)
    match = options.match or "SIS Login ID"
    return _plain(rows, options, remarks, lambda rows: canvas.plain(rows, options.assignment, match))


def _moodle(results: Sequence[SubmissionResult], options: Options) -> Report:
    rows, remarks = _rows(results, options)
    if options.gradebook:
        sheet = read_sheet(options.gradebook, moodle.NEEDS)
        filled = moodle.filled(sheet, rows, options.assignment, options.match, options.scale, options.comments)
        return _filled(filled, remarks)
    if options.comments:
        raise UsageError("--comments fills a worksheet's `Feedback comments`: name the worksheet with --gradebook")
    assignment, match = options.assignment or "Grade", options.match or "ID number"
    return _plain(rows, options, remarks, lambda rows: moodle.plain(rows, assignment, match))


def _gradescope(results: Sequence[SubmissionResult], options: Options) -> Report:
    result = _one(results, options)
    rows, remarks = _rows([result], options)
    late = next(row.seconds_late for row in rows if row.result.name == result.name) or 0.0
    data = gradescope(result, visibility=options.visibility, policy=options.late, seconds_late=late)
    return Report(_json(data), remarks, not result.ungradable)


def _autolab(results: Sequence[SubmissionResult], options: Options) -> Report:
    result = _one(results, options)
    return Report(autolab(result, options.exercise or ()), (), not result.ungradable)


def _exercism(results: Sequence[SubmissionResult], options: Options) -> Report:
    result = _one(results, options)
    try:
        code = read_test_code(find_root(options.course))
    except HouseError as error:
        if options.course:
            raise UsageError(str(error)) from error
        code = {}  # no course is at hand: the field may be left out
    return Report(_json(exercism(result, code)), (), not result.ungradable)


def _junit(results: Sequence[SubmissionResult], options: Options) -> Report:
    return Report(junit_xml(results), (), not any(result.ungradable for result in results))


def _json(data: object) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _filled(filled: Filled, remarks: tuple[str, ...]) -> Report:
    return Report(filled.text, (*remarks, *filled.remarks), filled.complete)


def _plain(rows: Sequence[Row], options: Options, remarks: tuple[str, ...], make: Callable[[list[Row]], str]) -> Report:
    """A file made of known students, each once; without a roster an id is a name that a student chose."""
    if several := sorted({row.key for row in rows if row.status == SEVERAL}):
        raise UsageError(f"several submissions fit one id ({listed(several)}): take away those that do not count")
    left_out = [row.key for row in rows if row.stranger or (not options.roster and looks_like_formula(row.key))]
    rows = [row for row in rows if row.key not in left_out]
    without = [f"{row.key} ({row.status})" for row in rows if row.status != GRADED]
    risky = [row.key for row in rows if looks_like_formula(row.key)]
    for names, told in (
        (
            left_out,
            "Left out, since they are on no roster" if options.roster else "Left out: give a --roster with them",
        ),
        (without, "Without a grade"),
        (risky, "Import the file and open it in no spreadsheet: these ids begin like a formula and must stay"),
    ):
        if names:
            remarks += (f"{told} ({len(names)}): {listed(names, most=20, limit=90)}.",)
    return Report(make(rows), remarks, not (without or left_out))


def _one(results: Sequence[SubmissionResult], options: Options) -> SubmissionResult:
    wanted = options.submission
    if wanted is None and len(results) == 1:
        return results[0]
    found = [result for result in results if result.name == wanted]
    if found:
        return found[0]
    names = listed([result.name for result in results])
    if wanted is None:
        raise UsageError(f"this format is of one submission, and here are {len(results)}: --submission NAME ({names})")
    raise UsageError(f"there is no submission {printable(wanted, 60)!r} in these grades: {names}")


def _rows(results: Sequence[SubmissionResult], options: Options) -> tuple[list[Row], tuple[str, ...]]:
    students = read_roster(options.roster) if options.roster else []
    deadline = _deadline(options)
    rows = class_rows(results, students, deadline)
    remarks = []
    if timeless := without_time(rows, deadline):
        remarks.append(f"No time of submission is known of these, so nothing was taken off: {listed(timeless, 20)}.")
    if late := [row.key for row in rows if row.penalty]:
        remarks.append(f"Late, with points taken off ({options.late}): {listed(late, 20)}.")
    return rows, tuple(remarks)


def _deadline(options: Options) -> Deadline | None:
    if options.late is None and (options.due or options.submitted or options.extensions):
        raise UsageError("--due, --submitted and --extensions mean nothing without --late POLICY, which may be none")
    if options.late in (None, LatePolicy()):
        return None
    if options.due is None:
        raise UsageError("--late needs --due TIME, the deadline")
    times = options.submitted or options.roster
    if times is None:
        raise UsageError("--late needs --submitted CSV (columns id, submitted), or a --roster that has `submitted`")
    extensions = read_extensions(options.extensions) if options.extensions else {}
    return Deadline(options.late, options.due, read_times(times), extensions)


# ── Options ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _late_policy(text: str) -> LatePolicy:
    try:
        return LatePolicy.parse(text)
    except LatePolicyError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _time(text: str) -> object:
    try:
        return parse_time(text)
    except LatePolicyError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _source_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("grades", nargs="?", type=Path, metavar="GRADES", help="what `nanolm grade --json` wrote")
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="or: the ledger of `nanolm grade --ledger`")
    parser.add_argument("--round", default="practice", metavar="NAME", help="the ledger's round (default: practice)")
    parser.add_argument("--exercise", action="append", choices=list(EXERCISES), metavar="ID",
                        help="of the ledger only these exercises (repeat for more; default: all)")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE (default: print)")


def _class_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the class")
    group.add_argument("--roster", type=Path, metavar="CSV", help="students (columns id, name): a row for everybody")
    group.add_argument("--late", type=_late_policy, metavar="POLICY",
                       help=f"what lateness costs: none (default), or like '{EXAMPLE}'".replace("%", "%%"))  # fmt: skip
    group.add_argument("--due", type=_time, metavar="TIME", help="the deadline, like 2026-12-01T23:59+03:00")
    group.add_argument("--submitted", type=Path, metavar="CSV",
                       help="when each came (columns id, submitted; default: the roster, if it has them)")  # fmt: skip
    group.add_argument("--extensions", type=Path, metavar="CSV", help="who has more time (columns id, hours)")


def _gradebook_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the gradebook")
    group.add_argument("--gradebook", type=Path, metavar="CSV",
                       help="the system's own export: only the grades of known students are changed in it")  # fmt: skip
    group.add_argument("--match", metavar="COLUMN", help="the column that has the ids (default: all that can)")
    group.add_argument("--scale", action="store_true", help="convert where the gradebook has another maximum")


def _canvas_options(parser: argparse.ArgumentParser) -> None:
    _gradebook_options(parser)
    parser.add_argument("--assignment", required=True, metavar="TITLE", help="its title, number or whole column head")


def _moodle_options(parser: argparse.ArgumentParser) -> None:
    _gradebook_options(parser)
    parser.add_argument("--assignment", metavar="COLUMN", help="the column's head; a grading worksheet needs none")
    parser.add_argument("--comments", action="store_true", help="fill the worksheet's feedback comments, too")


def _single_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--submission", metavar="NAME", help="which one, where there are several")


def _gradescope_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--visibility", choices=VISIBILITIES, default=VISIBILITIES[0],
                        help="when students see the tests (default: visible, at once)")  # fmt: skip


def _exercism_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--course", type=Path, metavar="DIR", help="the course folder (default: found from here)")


FORMATS: dict[str, Format] = {
    "csv": Format("a table for people, safe to open in a spreadsheet",
                  "nanolm report csv grades.json --roster roster.csv -o week6.csv", _csv, (_class_options,)),
    "canvas": Format("Canvas: a CSV file for the gradebook's import",
                     "nanolm report canvas grades.json --gradebook export.csv --assignment 'Module 6' -o import.csv",
                     _canvas, (_class_options, _canvas_options)),
    "moodle": Format("Moodle: the grading worksheet filled in, or a CSV file for the grade import",
                     "nanolm report moodle grades.json --gradebook worksheet.csv --comments -o upload.csv",
                     _moodle, (_class_options, _moodle_options)),
    "gradescope": Format("Gradescope: results.json of one submission",
                         "nanolm report gradescope grades.json --submission anna -o results.json",
                         _gradescope, (_single_options, _class_options, _gradescope_options)),
    "autolab": Format("Autolab: feedback and the autoresult of one submission",
                      "nanolm report autolab grades.json --submission anna", _autolab, (_single_options,)),
    "exercism": Format("Exercism: results.json (version 3) of one submission",
                       "nanolm report exercism grades.json --submission anna -o results.json",
                       _exercism, (_single_options, _exercism_options)),
    "junit": Format("JUnit XML of all submissions, for build servers",
                    "nanolm report junit grades.json -o junit.xml", _junit),
}  # fmt: skip
"""One entry a format. A new one needs a function of results, its help, and a page in `docs/reports.md`."""

EPILOG = """examples:
{examples}

GRADES is the file that `nanolm grade --json GRADES` wrote. `nanolm report FORMAT --help` tells a format's options, and
docs/reports.md tells it all step by step. A student without a grade never gets a zero: the cell stays as it was, or
empty. What was left out is said on the error output.

exit status: 0 everybody has a grade in it, 2 wrong usage (nothing was written), 3 some have none, 4 no ledger."""


def command(arguments: Sequence[str]) -> int:
    """`nanolm report FORMAT [GRADES | --ledger FILE] [-o FILE]`, `nanolm report gradescope-zip FILE`."""
    if list(arguments[:1]) == ["gradescope-zip"]:
        return gradescope_zip.command(arguments[1:])
    options = _parser().parse_args(arguments)
    chosen = FORMATS[options.format]
    try:
        report = chosen.make(_results(options), options)
        if options.output:
            write_text(options.output, report.text)
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(report.text.encode())  # whatever the terminal's encoding, files are UTF-8
    except LedgerError as error:
        print(f"nanolm report: {error}", file=sys.stderr)
        return CANNOT_START
    except (UsageError, GradesError, SheetError, RosterError) as error:
        print(f"nanolm report {options.format}: {error}. Nothing was written.", file=sys.stderr)
        return USAGE
    except OSError as error:
        print(f"nanolm report: {str(options.output)!r} could not be written: {error.strerror}", file=sys.stderr)
        return USAGE
    for remark in report.remarks:
        print(remark, file=sys.stderr)
    return OK if report.complete else UNGRADABLE


def _results(options: Options) -> list[SubmissionResult]:
    if (options.grades is None) == (options.ledger is None):
        raise UsageError("name the grades: the JSON of `nanolm grade --json`, or --ledger FILE, one of them")
    if options.ledger:
        results = read_ledger(options.ledger, options.round, options.exercise or tuple(EXERCISES))
    else:
        if options.exercise and options.format != "autolab":
            raise UsageError("--exercise chooses of a ledger: grade with `nanolm grade --exercise` for such a JSON")
        results = read_grades(options.grades)
    if not results:
        raise UsageError("there is no submission in these grades")
    return results


def _parser() -> argparse.ArgumentParser:
    examples = "\n".join(
        f"  {example}" for example in (*(each.example for each in FORMATS.values()), gradescope_zip.EXAMPLE)
    )
    parser = argparse.ArgumentParser(
        prog="nanolm report", description="Write grades in the format that a gradebook or a platform reads.",
        epilog=EPILOG.format(examples=examples), formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    formats = parser.add_subparsers(dest="format", metavar="FORMAT", required=True, title="formats")
    for name, each in FORMATS.items():
        sub = formats.add_parser(
            name, help=each.about, description=f"{each.about[0].upper()}{each.about[1:]}.",
            epilog=f"example:\n  {each.example}", formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        _source_options(sub)
        for add in each.options:
            add(sub)
    formats.add_parser("gradescope-zip", help=gradescope_zip.ABOUT, add_help=False)
    return parser
