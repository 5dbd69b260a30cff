"""The instructors' sub-commands: parse, call, print, exit status. What they do lives in the modules they call."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from grader.house import HouseError, find_root
from grader.ledger import Ledger, LedgerError
from grader.reports.options import add_report_options, report_run, unwritable_report
from grader.sandbox import BEST, CHOICES, Level
from grader.session import CannotStart, Settings
from nanolm.course import EXERCISES, exercise_files
from nanolm.untrusted import listed, printable

OK, FAILED, USAGE, UNGRADABLE, CANNOT_START = 0, 1, 2, 3, 4


def _guarded(body: Callable[[], int]) -> int:
    """Run a command's body; what keeps grading from starting is one sentence and exit status 4."""
    try:
        return body()
    except (CannotStart, HouseError, LedgerError) as error:
        print(f"nanolm: {error}", file=sys.stderr)
        return CANNOT_START


def _parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"nanolm {name}", description=description)
    parser.add_argument("--course", type=Path, metavar="DIR", help="the course folder (default: found from here)")
    return parser


def grade(arguments: Sequence[str]) -> int:
    """`nanolm grade PATH [PATH ...] [--class DIR] [--json FILE] [--exercise ID]`."""
    parser = _parser("grade", "Grade submissions: folders, zips or .py files. Prints one table.")
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="a submission")
    parser.add_argument("--class", dest="classes", action="append", type=Path, default=[], metavar="DIR",
                        help="grade every entry of DIR")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the grades as JSON")
    parser.add_argument("--exercise", action="append", choices=list(EXERCISES), metavar="ID",
                        help=f"only this exercise (repeat for more): {', '.join(EXERCISES)}")  # fmt: skip
    parser.add_argument("--round", default="practice", metavar="NAME",
                        help="inputs are drawn from this name and the secret in NANOLM_SECRET")  # fmt: skip
    parser.add_argument("--isolation", choices=CHOICES, default=Level.FULL.value,
                        help="how far workers are shut in; with less, nothing is graded (default: full)")  # fmt: skip
    parser.add_argument("--processes", type=int, metavar="N", help="default: one a core")
    parser.add_argument("--messages", action="store_true", help="print the students' messages below the table")
    parser.add_argument("--ledger", type=Path, metavar="FILE",
                        help="keep verdicts in this file and take known ones from it")  # fmt: skip
    parser.add_argument("--roster", type=Path, metavar="CSV",
                        help="students (columns id, name): who has handed in nothing gets a row too")  # fmt: skip
    parser.add_argument("--gpu", action="append", type=Path, default=[], metavar="FILE",
                        help="take the verdicts of a GPU job's file (nanolm gpu --json)")  # fmt: skip
    parser.add_argument("--replay", metavar="NAME",
                        help="run NAME's submission once more and compare with --ledger")  # fmt: skip
    add_report_options(parser)
    options = parser.parse_args(arguments)
    if options.replay is not None:
        if options.ledger is None or options.paths or options.classes:
            parser.error("--replay NAME needs --ledger FILE and no submission: it runs what the ledger has kept")
        return _guarded(lambda: _replay(options))
    if problem := unwritable_report(options, _unwritable):
        parser.error(problem)
    hand_in = options.github and not options.paths and not options.classes
    if hand_in and (options.ledger or options.roster):
        parser.error("--github without a PATH grades one pull request: it takes no --ledger and no --roster")
    if not options.paths and not options.classes and not hand_in:
        parser.error("name at least one submission, or a folder of them with --class DIR")
    if options.ledger and (problem := _unwritable(options.ledger)):
        parser.error(f"--ledger: {problem}")
    for path in options.paths:
        if not os.path.lexists(path):
            parser.error(f"there is nothing at {str(path)!r}")
    if options.processes is not None and options.processes < 1:
        parser.error("--processes takes a whole number from 1 on")
    if options.json and (problem := _unwritable(options.json)):
        parser.error(f"--json: {problem}")
    if options.json and options.json.is_dir():
        parser.error(f"--json: {str(options.json)!r} is a folder")
    if hand_in:
        return _guarded(lambda: _grade_hand_in(options))
    return _guarded(lambda: _grade(parser, options))


def _unwritable(path: Path) -> str | None:
    """Why grades could not be written to `path`, asked before anything is graded."""
    folder = path.resolve().parent
    if not folder.is_dir():
        return f"there is no folder {str(folder)!r}"
    if path.is_dir():
        return f"{str(path)!r} is a folder"
    if not os.access(path if path.exists() else folder, os.W_OK):
        return f"{str(path)!r} cannot be written"
    return None


def _grade(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from grader import submissions
    from grader.files import write_json
    from grader.gpu.merge import GpuFileError, read_run
    from grader.grading import grade_paths, with_roster
    from grader.oddities import HARMLESS
    from grader.results import grade_data
    from grader.roster import RosterError, read_roster
    from grader.table import console, grade_table, messages

    root = find_root(options.course, [*options.paths, *options.classes])
    paths: list[Path] = list(options.paths)
    remarks = []
    try:
        for folder in options.classes:
            entries = submissions.class_entries(folder, exercise_files())
            if not entries:
                parser.error(f"--class: {str(folder)!r} holds no submission")
            paths += entries
            if skipped := submissions.passed_over(folder, entries):
                remarks.append(f"Passed over in {printable(str(folder))}: {listed(skipped)}.")
    except submissions.SubmissionUsageError as error:
        parser.error(str(error))
    try:
        students = read_roster(options.roster) if options.roster else []
    except RosterError as error:
        parser.error(f"--roster: {error}")
    try:
        runs = [read_run(path) for path in options.gpu]
    except GpuFileError as error:
        parser.error(f"--gpu: {error}")
    settings = _settings(root, options)
    if stale := [path for path, run in zip(options.gpu, runs, strict=True) if not run.is_of(settings)]:
        remarks.append(f"Under other tests than these, and so without effect on this table: {listed(map(str, stale))}.")
    if options.ledger and not settings.secret:
        remarks.append(
            "NANOLM_SECRET is not set: whoever has this course's code can compute this round's inputs. Set one before "
            "marks are given for it."
        )
    start = time.perf_counter()
    results = grade_paths(paths, settings, processes=options.processes, ledger=options.ledger, gpu=runs)
    if students:
        results = with_roster(results, students, settings)
    out = console()
    out.print(grade_table(results))
    if options.messages:
        for line in messages(results):
            out.print(line)
    seconds = time.perf_counter() - start
    ungradable = sum(result.ungradable is not None for result in results)
    levels = ", ".join(sorted({result.isolation for result in results if result.isolation})) or "none needed"
    for remark in remarks:
        out.print(remark)
    many = f"{len(results)} submission{'s' if len(results) != 1 else ''}"
    out.print(f"{many} in {seconds:.1f} s; {ungradable} could not be graded. Isolation: {levels}.")
    odd = sum(any(HARMLESS in note for note in result.notes) for result in results)
    if odd and not options.messages:
        out.print(f"Something looks odd in {odd} of them, at no cost: --messages shows what.")
    if options.json:
        try:
            write_json(options.json, grade_data(results))
        except OSError as error:
            print(f"nanolm grade: {str(options.json)!r} could not be written: {error.strerror}", file=sys.stderr)
            return USAGE
        out.print(f"Grades are in {options.json}.")
    return report_run(options, paths, results) or (UNGRADABLE if ungradable else OK)


def _grade_hand_in(options: argparse.Namespace) -> int:
    from grader.github.command import grade_hand_in

    return grade_hand_in(options, _settings(find_root(options.course), options))


def _settings(root: Path, options: argparse.Namespace) -> Settings:
    exercises = tuple(name for name in EXERCISES if name in (options.exercise or EXERCISES))
    return Settings(root, exercises, options.round, os.environ.get("NANOLM_SECRET", "").encode(), options.isolation)


def _replay(options: argparse.Namespace) -> int:
    from grader.again import replay

    if not options.ledger.is_file():
        raise LedgerError(f"there is no ledger at {options.ledger}")
    with Ledger(options.ledger) as ledger:
        count, changes = replay(ledger, options.replay, _settings(find_root(options.course), options))
    for change in changes:
        print(change)
    print(f"{count - len(changes)} of {count} verdicts came out the same.")
    return FAILED if changes else OK


def regrade(arguments: Sequence[str]) -> int:
    """`nanolm regrade --ledger FILE`: a round under the tests as they are now; who gains, who loses, why."""
    parser = _parser("regrade", "Grade a round again after a change of tests; say who gains, who loses and why.")
    parser.add_argument("--ledger", type=Path, metavar="FILE", required=True, help="the ledger of that round")
    parser.add_argument("--exercise", action="append", choices=list(EXERCISES), metavar="ID", help="only this exercise")
    parser.add_argument("--round", default="practice", metavar="NAME", help="the round's name (default: practice)")
    parser.add_argument("--isolation", choices=CHOICES, default=Level.FULL.value, help="as for grading (default: full)")
    parser.add_argument("--processes", type=int, metavar="N", help="default: one a core")
    options = parser.parse_args(arguments)
    return _guarded(lambda: _regrade(options))


def _regrade(options: argparse.Namespace) -> int:
    from grader.again import regrade as again
    from grader.again import report

    if not options.ledger.is_file():
        raise LedgerError(f"there is no ledger at {options.ledger}")
    with Ledger(options.ledger) as ledger:
        for line in report(again(ledger, _settings(find_root(options.course), options), processes=options.processes)):
            print(line)
    return OK


def verify(arguments: Sequence[str]) -> int:
    """`nanolm verify`: print the kill matrix; exit status 1 where it has a hole."""
    parser = _parser("verify", "Run the bank of mistakes and right answers through the tests; print the kill matrix.")
    parser.add_argument("--exercise", action="append", choices=list(EXERCISES), metavar="ID", help="only this exercise")
    parser.add_argument("--margins", action="store_true", help="print how far mistakes are from each tolerance")
    parser.add_argument("--round", default="practice", metavar="NAME", help="draw the inputs of another grading round")
    parser.add_argument("-q", "--quiet", action="store_true", help="problems and totals only")
    options = parser.parse_args(arguments)
    return _guarded(lambda: _verify(options))


def _verify(options: argparse.Namespace) -> int:
    from grader import verify as matrix_of
    from grader.table import console, margin_table, stepping

    root = find_root(options.course)
    exercises = tuple(name for name in EXERCISES if name in (options.exercise or EXERCISES))
    settings = Settings(root, exercises, options.round)
    start = time.perf_counter()
    with stepping("verifying the bank", matrix_of.total(settings, root)) as step:
        matrix = matrix_of.build(root, settings, lambda result: step())
    out = console()
    if not options.quiet:
        for name in exercises:
            out.print(matrix_of.matrix_table(matrix, name))
            for line in matrix_of.legend(matrix, name):
                out.print(line)
    if options.margins:
        out.print(margin_table(matrix_of.margins(matrix)))
    for problem in matrix.problems:
        out.print(f"PROBLEM  {problem}")
    out.print(f"{matrix_of.totals(matrix)}; {time.perf_counter() - start:.1f} s")
    return FAILED if matrix.problems else OK


def sync(arguments: Sequence[str]) -> int:
    """`nanolm sync [--check] [--force]`: generate the stubs, or prove that they are current."""
    parser = _parser("sync", "Generate exercises/ from solutions/.")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit status 1 where something is out of step"
    )
    parser.add_argument("--force", action="store_true", help="replace files in which somebody has worked")
    options = parser.parse_args(arguments)
    return _guarded(lambda: _sync(options))


def _sync(options: argparse.Namespace) -> int:
    from grader.stubs import StubError, write_stubs
    from grader.sync import problems

    root = find_root(options.course)
    try:
        if not options.check:
            changed = write_stubs(root, force=options.force)
            print("written: " + ", ".join(f"exercises/{name}" for name in changed) if changed else "nothing to change")
        found = problems(root)
    except StubError as error:
        print(f"nanolm sync: {error}", file=sys.stderr)
        return FAILED
    for problem in found:
        print(f"PROBLEM  {problem}")
    if options.check and not found:
        print("exercises/ is what solutions/ makes: same surface, every task named, nothing of a solution in it")
    return FAILED if found else OK


def fingerprints(arguments: Sequence[str]) -> int:
    """`nanolm fingerprints [--check]`: store what each banked mistake gives on the probes."""
    parser = _parser("fingerprints", "Store what each banked mistake gives on the probe inputs.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 where they are not current")
    options = parser.parse_args(arguments)
    return _guarded(lambda: _fingerprints(options))


def _fingerprints(options: argparse.Namespace) -> int:
    from grader.bank import read_bank
    from grader.fingerprints import differences, observe_bank, write
    from grader.table import stepping

    root = find_root(options.course)
    count = len(EXERCISES) + sum(specimen.kind == "rejected" for specimen in read_bank(root))
    with stepping("probing the bank", count) as step:
        bank = observe_bank(root, step)
    found = differences(bank)
    if options.check:
        for problem in found:
            print(f"PROBLEM  {problem}")
        print(f"{count} fingerprints, {len(found)} not current")
        return FAILED if found else OK
    if found:
        write(bank)
    print(f"{count} fingerprints, {len(found)} probes changed")
    return OK


def demo(arguments: Sequence[str]) -> int:
    """`nanolm demo`: a class of submissions built from the bank, graded as an instructor would."""
    parser = _parser("demo", "Build a class of submissions from the bank below DIR and grade it.")
    parser.add_argument("--into", type=Path, default=Path("demo"), metavar="DIR", help="scratch folder (default: demo)")
    options = parser.parse_args(arguments)
    return _guarded(lambda: _demo(options))


def _demo(options: argparse.Namespace) -> int:
    from grader.demo import DemoError, build_class

    root = find_root(options.course)
    try:
        count = build_class(root, options.into)
    except DemoError as error:
        print(f"nanolm demo: {error}", file=sys.stderr)
        return USAGE
    grades = options.into / "grades.json"
    print(f"A class of {count} submissions is in {options.into / 'class'}. Grading it as an instructor would:\n")
    print(f"    nanolm grade --class {options.into / 'class'} --json {grades} --isolation {BEST}\n", flush=True)
    status = grade(
        ["--class", str(options.into / "class"), "--json", str(grades), "--course", str(root), "--isolation", BEST]
    )
    print(
        "\nThat is the main job: each row names the mistake, not just the mark. What to do next:\n"
        "  have nanolm on your path         . .venv/bin/activate\n"
        f"  look at one student's messages   nanolm grade {options.into / 'class' / '03-centering'} --messages\n"
        f"  read the grades                  {grades}\n"
        "  see how the tests are proven     nanolm verify\n"
        "  try it as a student              NANOLM_IMPL=exercises pytest"
    )
    return OK if status in (OK, UNGRADABLE) else status


def release(arguments: Sequence[str]) -> int:
    """`nanolm release --student DIR`: write the students' copy."""
    parser = _parser("release", "Write the students' copy: no solution, no mistake, no grader.")
    parser.add_argument("--student", type=Path, required=True, metavar="DIR", help="a new or empty folder")
    parser.add_argument(
        "--smoke", action="store_true", help="then install it into a fresh environment and run its tests"
    )
    options = parser.parse_args(arguments)
    return _guarded(lambda: _release(options))


def _release(options: argparse.Namespace) -> int:
    from grader.leaks import ReleaseError
    from grader.release import write_students_copy
    from grader.smoke import smoke_test

    root = find_root(options.course)
    try:
        files = write_students_copy(root, options.student)
        print(f"{len(files)} files written to {options.student}: no solution line, no marker, no mistake among them")
        if options.smoke:
            print(smoke_test(options.student, on_step=lambda text: print(f"  … {text}", flush=True)))
    except ReleaseError as error:
        print(f"nanolm release: {error}", file=sys.stderr)
        return FAILED
    return OK
