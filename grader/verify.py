"""`nanolm verify`: the kill matrix. Mistakes die of named tests and are named first; right answers lose nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table
from rich.text import Text

from grader.bank import Specimen, package_job, read_bank, read_gpu_bank
from grader.pool import grade_all
from grader.results import SubmissionResult
from grader.session import Settings
from nanolm.course import EXERCISES
from nanolm.protocol import Outcome
from nanolm.texts import catalogue
from nanolm.verdict import Verdict

STUB, REFERENCE = "stub", "reference"


@dataclass
class Matrix:
    """What every specimen did under every test of its exercise."""

    specimens: Sequence[Specimen]
    results: dict[str, SubmissionResult]
    problems: list[str] = field(default_factory=list)

    def verdicts(self, name: str) -> dict[str, Verdict]:
        """A specimen's verdicts by test id."""
        return {verdict.test: verdict for verdict in self.results[name].verdicts}

    def tests(self, exercise: str) -> list[Verdict]:
        """The reference's verdicts of an exercise: its tests in order."""
        return [verdict for verdict in self.results[REFERENCE].verdicts if verdict.exercise == exercise]

    def of(self, kind: str, exercise: str | None = None) -> list[Specimen]:
        """Specimens of a kind."""
        return [s for s in self.specimens if s.kind == kind and exercise in (None, s.exercise)]


def build(root: Path, settings: Settings, on_result: Callable[[SubmissionResult], None]) -> Matrix:
    """Grade the whole bank, the stubs and the reference."""
    specimens = [specimen for specimen in read_bank(root) if specimen.exercise in settings.exercises]
    jobs = [specimen.job(root) for specimen in specimens]
    jobs += [package_job(root, "exercises", STUB), package_job(root, "solutions", REFERENCE)]
    results = grade_all(jobs, settings, on_result)
    matrix = Matrix(specimens, {result.name: result for result in results})
    matrix.problems = judge(matrix, settings)
    return matrix


def judge(matrix: Matrix, settings: Settings) -> list[str]:
    """Every hole in a matrix, one sentence each."""
    return [
        *_whole_packages(matrix, settings),
        *(problem for specimen in matrix.specimens for problem in judge_specimen(matrix, specimen)),
        *_coverage(matrix, settings),
    ]


def total(settings: Settings, root: Path) -> int:
    """How many submissions `build` grades."""
    return 2 + sum(specimen.exercise in settings.exercises for specimen in read_bank(root))


def killed(verdict: Verdict) -> bool:
    """Whether a test told the specimen from a right answer."""
    return verdict.outcome not in (Outcome.PASSED, Outcome.NOT_RUN_HERE)


def ran(verdict: Verdict) -> bool:
    """Whether a test was run at all: without an accelerator GPU tests are not, and their matrix is `nanolm gpu`'s."""
    return verdict.outcome is not Outcome.NOT_RUN_HERE


def judge_specimen(matrix: Matrix, specimen: Specimen) -> list[str]:
    """What is wrong with how one specimen fared."""
    result = matrix.results[specimen.name]
    if result.ungradable:
        return [f"{specimen.name} could not be graded: {result.ungradable}"]
    if specimen.kind == "accepted":
        return [
            f"{specimen.name} is a right answer but {verdict.test} says {verdict.outcome.value}: {verdict.message}"
            for verdict in result.verdicts
            if killed(verdict)
        ]
    problems = []
    causes = [cause.id for cause in result.root_causes]
    if not causes or causes[0] not in specimen.mistakes:
        problems.append(f"{specimen.name}: the diagnosis says {causes or 'nothing'}")
    elif extra := [cause for cause in causes if cause not in specimen.mistakes]:
        problems.append(f"{specimen.name}: beside it the diagnosis also says {extra}")
    for verdict in result.verdicts:
        named = set(specimen.mistakes) & set(verdict.catches)
        if named and verdict.outcome is Outcome.PASSED:
            problems.append(
                f"{specimen.name} survives {verdict.test}, which claims to catch {', '.join(sorted(named))}"
            )
    for mistake in specimen.mistakes:
        if not any(mistake in verdict.catches for verdict in result.verdicts if ran(verdict)):
            problems.append(f"{specimen.name}: no test names {mistake}")
    return problems


def _whole_packages(matrix: Matrix, settings: Settings) -> list[str]:
    problems = []
    stub, reference = matrix.results[STUB], matrix.results[REFERENCE]
    for result in (stub, reference):
        if result.ungradable:
            problems.append(f"the {result.name} could not be graded: {result.ungradable}")
    for verdict in stub.verdicts:
        if ran(verdict) and (verdict.outcome is not Outcome.NOT_ATTEMPTED or verdict.score):
            problems.append(f"the stub is {verdict.outcome.value} under {verdict.test} and earns {verdict.score}")
    for verdict in reference.verdicts:
        if killed(verdict):
            problems.append(f"the reference fails {verdict.test}: {verdict.message}")
    for name in settings.exercises:
        points = sum(verdict.max_score for verdict in matrix.tests(name))
        if points != EXERCISES[name].points:
            problems.append(f"the tests of {name} add up to {points} points, not {EXERCISES[name].points}")
    return problems


def _coverage(matrix: Matrix, settings: Settings) -> list[str]:
    problems = []
    elsewhere = {mistake for specimen in read_gpu_bank(settings.root) for mistake in specimen.mistakes}
    for name in settings.exercises:
        rejected = matrix.of("rejected", name)
        banked = {mistake for specimen in rejected for mistake in specimen.mistakes}
        told = {mistake for mistake in catalogue()["mistakes"] if mistake.startswith(f"{name}-")}
        problems += [f"{mistake} has no text in the catalogue" for mistake in sorted(banked - told)]
        problems += [f"{mistake} has a text but no file in the bank" for mistake in sorted(told - banked - elsewhere)]
        for test in matrix.tests(name):
            fates = [matrix.verdicts(specimen.name).get(test.test) for specimen in rejected]
            if ran(test) and not any(verdict and killed(verdict) for verdict in fates):
                problems.append(f"{test.test} kills nothing")
            problems += [
                f"{test.test} claims to catch {mistake}, which is not in the bank"
                for mistake in test.catches
                if mistake not in banked | elsewhere
            ]
    return problems


def matrix_table(matrix: Matrix, exercise: str) -> Table:
    """Mistake × test: ■ killed by a test that names it, □ killed by another, · survived."""
    tests = [test for test in matrix.tests(exercise) if ran(test)]
    table = Table(
        title=f"{exercise}: mistakes × tests (■ named by the test, □ killed too)", title_justify="left", pad_edge=False
    )
    table.add_column("mistake", no_wrap=True)
    for number, _ in enumerate(tests, 1):
        table.add_column(str(number), justify="center", no_wrap=True)
    table.add_column("killed", justify="right", no_wrap=True)
    for specimen in [*matrix.of("rejected", exercise), *matrix.of("pairs", exercise)]:
        verdicts = matrix.verdicts(specimen.name)
        cells = [_cell(specimen, verdicts[test.test]) for test in tests if test.test in verdicts]
        count = sum(killed(verdict) for verdict in verdicts.values())
        table.add_row(Text(specimen.label), *cells, Text(f"{count}/{len(tests)}"))
    return table


def _cell(specimen: Specimen, verdict: Verdict) -> Text:
    if not killed(verdict):
        return Text("·", style="dim")
    named = set(specimen.mistakes) & set(verdict.catches)
    return Text("■" if named else "□", style="green" if named else "")


def legend(matrix: Matrix, exercise: str) -> list[str]:
    """The numbers of the matrix's columns."""
    tests = [test for test in matrix.tests(exercise) if ran(test)]
    return [f"  {number:>2}  {verdict.test.rpartition('::')[2]}" for number, verdict in enumerate(tests, 1)]


def totals(matrix: Matrix) -> str:
    """The bank's size and the matrix's sums, in one line."""
    rejected, pairs, accepted = (matrix.of(kind) for kind in ("rejected", "pairs", "accepted"))
    kills = sum(killed(v) for s in rejected for v in matrix.verdicts(s.name).values())
    cells = sum(ran(v) for s in rejected for v in matrix.verdicts(s.name).values())
    both = sum(set(s.mistakes) <= {c.id for c in matrix.results[s.name].root_causes} for s in pairs)
    ids = len({mistake for specimen in rejected for mistake in specimen.mistakes})
    return (
        f"{len(rejected)} mistakes ({ids} ids), {len(pairs)} pairs (both named in {both}), {len(accepted)} accepted "
        f"variants; {kills} kills in {cells} cells; {len(matrix.problems)} problems"
    )


def margins(matrix: Matrix) -> list[tuple[str, float, float, str]]:
    """For each test that compares numbers: the largest share of its tolerance that a right answer uses, the smallest
    that a mistake reaches which the tolerance rejects, and that mistake; the tightest first."""
    rows = []
    right = [REFERENCE, *(specimen.name for specimen in matrix.of("accepted"))]
    for name in EXERCISES:
        for test in matrix.tests(name):
            used = [v.closeness for n in right if (v := matrix.verdicts(n).get(test.test)) and v.closeness is not None]
            beyond = [
                (v.closeness, specimen.label)
                for specimen in matrix.of("rejected", name)
                if (v := matrix.verdicts(specimen.name).get(test.test)) and v.closeness is not None and v.closeness > 1
            ]
            if used and beyond:
                nearest = min((share, label) for share, label in beyond if share is not None)
                rows.append((test.test.rpartition("::")[2], max(used), *nearest))
    return sorted(rows, key=lambda row: row[2] / max(row[1], 1e-3))
