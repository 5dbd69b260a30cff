"""`nanolm experiment NAME [--plot FILE]`: the course's experiments on the implementation that NANOLM_IMPL names."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nanolm.course import course_above
from nanolm.experiments import EXPERIMENTS, Experiment
from nanolm.experiments.figure import SUFFIXES
from nanolm.implementation import UnknownImplementation, choose
from nanolm.untrusted import printable

if TYPE_CHECKING:
    from nanolm.experiments.result import Number, Result


def command(arguments: Sequence[str]) -> int:
    """Print an experiment and draw its figure; 1: it could not run, or a number is not the course's; 2: wrong usage."""
    parser = argparse.ArgumentParser(
        prog="nanolm experiment",
        description="Run one of the course's experiments on your exercises (NANOLM_IMPL=solutions: on the reference).",
        epilog=_listing(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="which one; without it they are listed")
    parser.add_argument("--plot", type=Path, metavar="FILE", help=f"draw its figure ({', '.join(SUFFIXES)})")
    options = parser.parse_args(arguments)
    if options.name is None:
        if options.plot:
            parser.error("--plot needs the NAME of an experiment")
        print(_listing())
        return 0
    if options.name not in EXPERIMENTS:
        parser.error(f"there is no experiment {printable(options.name, 40)!r}: there are {', '.join(EXPERIMENTS)}")
    if problem := _unusable(options.plot):
        parser.error(problem)
    root = course_above(Path.cwd())
    if root is None:
        parser.error("there is no course here or above: go to the folder of the exercises")
    try:
        choice = choose(root)
    except UnknownImplementation as error:
        parser.error(str(error))
    sys.path.insert(0, str(root))
    from nanolm.experiments.lab import Unfinished, run
    from nanolm.sources import PackageSource

    experiment = EXPERIMENTS[options.name]
    try:
        result = run(experiment, PackageSource(choice.package, choice.folder))
    except Unfinished as unfinished:
        print(f"{experiment.name} on {choice.package}/: {unfinished}", file=sys.stderr)
        return 1
    show(experiment, result, f"{choice.package}/")
    if options.plot:
        from nanolm.experiments.figure import save

        save(result, f"{experiment.title} ({experiment.section})", options.plot)
        print(f"figure: {options.plot}")
    return 0 if result.agrees else 1


def _listing() -> str:
    rows = [f"  {e.name:<15}{e.title:<50}needs {', '.join(e.needs)}" for e in EXPERIMENTS.values()]
    return "experiments:\n" + "\n".join(rows)


def _unusable(plot: Path | None) -> str | None:
    """Why a figure could not be written there, told before anything is computed."""
    if plot is None:
        return None
    if plot.suffix.lower() not in SUFFIXES:
        return f"--plot {printable(str(plot))}: the file's name must end in one of {', '.join(SUFFIXES)}"
    if not plot.absolute().parent.is_dir():
        return f"--plot {printable(str(plot))}: there is no folder {printable(str(plot.absolute().parent))}"
    return None


def show(experiment: Experiment, result: Result, name: str) -> None:
    """Print the tables, the course's numbers beside the ones obtained, and the remarks."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False, soft_wrap=not sys.stdout.isatty(), force_jupyter=False)
    console.print(f"{experiment.name}: {experiment.title} ({experiment.section}), by {name}")
    for table in result.tables:
        grid = Table(*table.columns, title=table.title or None, title_justify="left", box=box.SIMPLE_HEAD)
        for column in grid.columns[1:]:
            column.justify = "right"
        for row in table.rows:
            grid.add_row(*row)
        console.print(grid)
    if result.numbers:
        grid = Table("the course's numbers", "here", "course", "", box=box.SIMPLE_HEAD)
        for number in result.numbers:
            verdict, style = ("", None) if number.agrees else ("differs", "red")
            grid.add_row(number.name, *_pair(number), verdict, style=style)
        console.print(grid)
    for claim in result.claims:
        console.print(
            f"{'holds:' if claim.holds else 'DOES NOT HOLD:'} {claim.statement}", style=None if claim.holds else "red"
        )
    for remark in result.remarks:
        console.print(remark)
    if not result.agrees:
        needs = " ".join(experiment.needs)
        console.print(f"This is not what the course finds: `nanolm check {needs}` says what is wrong.")


def _pair(number: Number) -> tuple[str, str]:
    """Both values with as many decimals as the course prints, or enough to see the difference."""
    if number.within == 0:
        return f"{number.value:,}", f"{number.course:,}"
    return f"{number.value:.9g}", f"{number.course:.9g}"
