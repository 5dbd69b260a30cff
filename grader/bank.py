"""The bank as data: named mistakes, pairs of them, and right answers written differently. Files are read, never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.job import Job
from grader.session import CannotStart
from nanolm.course import EXERCISES, GIVEN_FILES, exercise_files

Kind = Literal["rejected", "pairs", "accepted"]


class BankError(ValueError):
    """A file of the bank is not where or what it should be."""


@dataclass(frozen=True)
class Specimen:
    """One file of the bank: `label` is its stem, `centering__var`, and `mistakes` the ids it stands for."""

    kind: Kind
    exercise: str
    label: str
    text: str
    summary: str

    @property
    def name(self) -> str:
        """`rejected/rmsnorm/centering__var`, as reports show it."""
        return f"{self.kind}/{self.exercise}/{self.label}"

    @property
    def mistakes(self) -> tuple[str, ...]:
        """Ids of the mistakes in it; none for an accepted variant."""
        if self.kind == "accepted":
            return ()
        return tuple(f"{self.exercise}-{slug}" for slug in self.label.partition("__")[0].split("+"))

    def job(self, root: Path) -> Job:
        """The specimen as a submission of its one exercise."""
        return Job(self.name, {EXERCISES[self.exercise].file: self.text} | given(root), exercises=(self.exercise,))


def given(root: Path) -> dict[str, str]:
    """The course's own files, which every submission gets; raises CannotStart where one cannot be read."""
    try:
        return {name: (root / "exercises" / name).read_text(encoding="utf-8") for name in GIVEN_FILES}
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"a file that the course gives cannot be read: {error}") from error


def package_job(root: Path, package: str, name: str) -> Job:
    """A whole package, `solutions` or the stubs, as a submission."""
    texts = {file: (root / package / file).read_text(encoding="utf-8") for file in exercise_files()}
    return Job(name, texts | given(root))


def read_bank(root: Path) -> list[Specimen]:
    """Every specimen, sorted by kind, exercise and label."""
    return list(_specimens(root / "mistakes"))


def read_gpu_bank(root: Path) -> list[Specimen]:
    """The specimens of `mistakes/gpu/`: right on a CPU, all of them, and what they are on an accelerator."""
    return list(_specimens(root / "mistakes" / "gpu"))


def _specimens(folder: Path) -> Iterator[Specimen]:
    kinds: tuple[Kind, ...] = ("rejected", "pairs", "accepted")
    for kind in kinds:
        for path in sorted((folder / kind).glob("*/*.py")):
            if path.parent.name not in EXERCISES:
                raise BankError(f"{path}: there is no exercise {path.parent.name!r}")
            text = path.read_text(encoding="utf-8")
            summary = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0].replace("\n", " ")
            if not summary:
                raise BankError(f"{path}: a bank file begins with a docstring that says what it does")
            yield Specimen(kind, path.parent.name, path.stem, text, summary)


def combine(solution: str, *specimens: Specimen) -> str:
    """A whole exercise file: the solution's, with each specimen's class put in the place of the right one.

    Later definitions win, so the specimens follow the solution; imports from `__future__` may only stand at the top,
    which is where the solution has its own.
    """
    replaced = {
        node.name for specimen in specimens for node in ast.parse(specimen.text).body if isinstance(node, ast.ClassDef)
    }
    lines = solution.splitlines()
    for node in sorted(ast.parse(solution).body, key=lambda node: node.lineno, reverse=True):
        if isinstance(node, ast.ClassDef) and node.name in replaced:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            del lines[first - 1 : node.end_lineno]
    return "\n\n\n".join(["\n".join(lines).rstrip(), *(specimen.text.strip() for specimen in specimens)]) + "\n"


def texts_with(root: Path, *specimens: Specimen) -> dict[str, str]:
    """All exercise files of the reference, with the specimens in the place of the right answers.

    Where a file holds several exercises, a specimen is the class of one of them; elsewhere it is the whole file.
    """
    texts = {name: (root / "solutions" / name).read_text(encoding="utf-8") for name in exercise_files()}
    for name in texts:
        shared = sum(exercise.file == name for exercise in EXERCISES.values()) > 1
        mine = [specimen for specimen in specimens if EXERCISES[specimen.exercise].file == name]
        if mine:
            texts[name] = combine(texts[name], *mine) if shared else mine[-1].text
    return texts
