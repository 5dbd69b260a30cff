"""`nanolm course`: collect what was handed in, grade it, fill nbgrader's gradebook, write feedback and the overview."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from grader.commands import CANNOT_START, FAILED, OK, UNGRADABLE
from grader.coursework.standing import Course
from grader.house import HouseError, find_root
from grader.ledger import LedgerError
from grader.roster import RosterError, Student, read_roster
from grader.sandbox import CHOICES
from grader.session import CannotStart
from nanolm.untrusted import listed, printable

DESCRIPTION = """\
The instructor's loop over a course with nbgrader. Students' data stays below grading/.

  nanolm course collect downloads.zip --roster roster.csv    put what was handed in where nbgrader looks
  nanolm course grade --roster roster.csv                    verdicts, gradebook, feedback pages, grades.csv
  nanolm course grade downloads.zip --roster roster.csv      both
"""


def command(arguments: Sequence[str]) -> int:
    """`nanolm course collect|grade|verdicts`."""
    parser = argparse.ArgumentParser(
        prog="nanolm course", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")
    collect = commands.add_parser("collect", help="put what was handed in into grading/submitted")
    collect.add_argument("handed_in", nargs="+", type=Path, metavar="DIR|ZIP", help="a folder or a download of a class")
    grade = commands.add_parser("grade", help="the whole loop: verdicts, gradebook, feedback, grades.csv")
    grade.add_argument("handed_in", nargs="*", type=Path, metavar="DIR|ZIP", help="collect this first")
    grade.add_argument("--no-feedback", action="store_true", help="write no feedback pages")
    grade.add_argument("--processes", type=int, metavar="N", help="default: one a core")
    verdicts = commands.add_parser("verdicts", help="only grade what is collected into the ledger")
    verdicts.add_argument("--student", action="append", metavar="ID", help="only this student (repeat for more)")
    for one in (collect, grade, verdicts):
        one.add_argument("--course", type=Path, metavar="DIR", help="the course folder (default: found from here)")
    for one in (collect, grade):
        one.add_argument("--roster", type=Path, metavar="CSV", help="students (columns id, name)")
    for one in (grade, verdicts):
        one.add_argument("--round", metavar="NAME", help="default: what grader_config.py says")
        one.add_argument("--isolation", choices=CHOICES, help="default: what grader_config.py says")
    options = parser.parse_args(arguments)
    bodies: dict[str, Callable[[argparse.Namespace], int]] = {
        "collect": _collect, "grade": _grade, "verdicts": _verdicts
    }  # fmt: skip
    try:
        return bodies[options.what](options)
    except _Usage as error:
        parser.error(str(error))
    except (CannotStart, HouseError, LedgerError) as error:
        print(f"nanolm: {error}", file=sys.stderr)
        return CANNOT_START


class _Usage(Exception):
    pass


def _course(options: argparse.Namespace) -> Course:
    """The course, with what grader_config.py says of grading unless the command line says otherwise."""
    from grader.nbgrader_plugins.setting import CONFIGURATION, CourseGrading, configuration

    root = find_root(options.course, getattr(options, "handed_in", ()))
    if not (root / CONFIGURATION).is_file():
        raise HouseError(f"{root} has no {CONFIGURATION}: nbgrader and this command are configured there")
    usual = CourseGrading(config=configuration(root))
    return Course(
        root,
        getattr(options, "round", None) or usual.round,
        getattr(options, "isolation", None) or usual.isolation,
    )


def _students(options: argparse.Namespace) -> list[Student]:
    try:
        return read_roster(options.roster) if options.roster else []
    except RosterError as error:
        raise _Usage(f"--roster: {error}") from error


def _collect(options: argparse.Namespace) -> int:
    from grader.coursework.lock import locked

    course = _course(options)
    students = _students(options)
    with locked(course):
        return _collect_into(course, options.handed_in, students)


def _collect_into(course: Course, handed_in: Sequence[Path], students: Sequence[Student]) -> int:
    from grader.coursework.collecting import CollectError, collect

    try:
        collected = collect(course, handed_in, students)
    except CollectError as error:
        raise _Usage(str(error)) from error
    for line in collected.remarks:
        print(line)
    print(f"{len(collected.students)} submissions collected into {course.data / 'submitted'}.")
    return FAILED if collected.nobodys else OK


def _verdicts(options: argparse.Namespace) -> int:
    from grader.coursework.loop import collected_students, give_verdicts

    course = _course(options)
    there = collected_students(course)
    wanted = options.student or there
    if unknown := [student for student in wanted if student not in there]:
        raise _Usage(f"nothing was collected of {listed(unknown)}")
    results = give_verdicts(course, wanted)
    return UNGRADABLE if any(result.ungradable for result in results) else OK


def _grade(options: argparse.Namespace) -> int:
    from grader.coursework.lock import locked
    from grader.coursework.loop import grade_course
    from grader.coursework.overview import UNKNOWN, UNREAD, summary, write_csv
    from grader.table import console, grade_table

    if options.processes is not None and options.processes < 1:
        raise _Usage("--processes takes a whole number from 1 on")
    course = _course(options)
    students = _students(options)
    with locked(course):
        status = _collect_into(course, options.handed_in, students) if options.handed_in else OK
        done = grade_course(course, students, processes=options.processes, feedback=not options.no_feedback)
        write_csv(course.data / "grades.csv", done.rows)
    out = console()
    out.print(grade_table(done.results))
    for line in done.troubles:
        out.print(f"TROUBLE  {printable(line, 2000, newlines=True)}")
    out.print(summary(done.rows))
    out.print(f"Grades are in {course.data / 'grades.csv'}, feedback in {course.data / 'feedback'}.")
    states = {row.status for row in done.rows}
    if done.troubles or UNKNOWN in states or status != OK:
        return FAILED
    return UNGRADABLE if states & {UNREAD} else OK
