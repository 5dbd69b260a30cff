"""From submitted notebooks to the texts of exercise files: the same text as a student's `.py`, graded the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import IO

from grader.notebooks.allowance import Allowance
from grader.notebooks.answers import Answer, Notebook, match
from grader.notebooks.apart import cells_of, parts_of
from grader.notebooks.parsing import NoNotebook
from grader.notebooks.released import ANSWER, Released
from grader.sourcetext import Unreadable
from grader.trees import MAX_FILE_BYTES, size_in_words
from nanolm.answer_parts import Parts
from nanolm.course import EXERCISES
from nanolm.one_file import one_file
from nanolm.untrusted import listed, printable

_TASK = re.compile(r'raise NotImplementedError\("[^"\n]*"\)')

Opened = AbstractContextManager[tuple[IO[bytes], int]]
"""A notebook's bytes and how many there are."""


@dataclass(frozen=True)
class Handed:
    """A notebook of a submission: its file name, and how to open it (which may raise Unreadable)."""

    file_name: str
    open: Callable[[], Opened]


@dataclass
class FromNotebooks:
    """What the notebooks of a submission come to, in the terms of `grader.submissions`."""

    files: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Reasons why a notebook that stands for no exercise in particular could not be read."""
    notebooks: dict[str, Notebook] = field(default_factory=dict)
    """The notebook that counts, by the stem of the released one."""
    broken: dict[str, str] = field(default_factory=dict)
    """Stem of the released notebook → why the submitted one could not be read."""
    unread_exercises: dict[str, str] = field(default_factory=dict)
    """The same by exercise, where no `.py` file stands for it."""


def read_notebooks(
    handed: Sequence[Handed], course: Released, wanted: Sequence[str], taken: Collection[str], found: FromNotebooks
) -> None:
    """Put into `found` the texts of the files of `wanted`; of those in `taken` there is a `.py` file, which wins."""
    claims: dict[str, list[Notebook]] = {}
    strangers = []
    allowance = Allowance()
    for one in handed:
        notebooks = _opened(one, course, found, allowance)
        for notebook in notebooks or ():
            claims.setdefault(notebook.released.stem, []).append(notebook)
        if notebooks == []:
            strangers.append(one.file_name)
    if strangers:
        found.notes.append(f"Not read, since nothing tells which of the course's notebooks it is: {listed(strangers)}.")
    for stem, rivals in claims.items():
        found.broken.pop(stem, None)
        _choose(stem, rivals, found)
    answers = {
        exercise: answer
        for notebook in found.notebooks.values()
        for exercise, answer in notebook.answers.items()
        if EXERCISES[exercise].file in wanted and EXERCISES[exercise].file not in taken
    }
    for notebook in found.notebooks.values():
        won = sorted({EXERCISES[name].file for name in notebook.answers if EXERCISES[name].file in taken})
        found.notes += [wins(file, notebook) for file in won]
        found.notes += notebook.notes if any(name in answers for name in notebook.answers) else []
    _write_files(answers, course, [file for file in wanted if file not in taken], found)


def wins(file: str, notebook: Notebook) -> str:
    """The note on a notebook that was not graded."""
    return f"{file} was graded, {notebook.file} was not: a .py file wins."


def _opened(one: Handed, course: Released, found: FromNotebooks, allowance: Allowance) -> list[Notebook] | None:
    """The notebooks of a file; None where it could not be read, which is told in `found`."""
    shown = printable(one.file_name, 120)
    try:
        allowance.check()
        with one.open() as (stream, size):
            allowance.spend(size)
            cells, notes = cells_of(stream, size)
    except NoNotebook as error:
        reason = f"{shown} {error}"
    except Unreadable as error:
        reason = str(error)
    else:
        found.notes += [f"{shown} {note}" for note in notes]
        return match(one.file_name, cells, course)
    meant = course.named(one.file_name)
    if meant is None:
        found.unread += [reason] if reason not in found.unread else []
    else:
        found.broken[meant.stem] = reason
    return None


def _choose(stem: str, rivals: Sequence[Notebook], found: FromNotebooks) -> None:
    """Which of several notebooks of one name counts: of those with work in them the one that is named exactly so."""
    touched = [notebook for notebook in rivals if notebook.touched] or list(rivals)
    pool = [notebook for notebook in touched if notebook.file == f"{stem}.ipynb"] or touched
    first = pool[0]
    same = all({n: a.source for n, a in one.answers.items()} == {n: a.source for n, a in first.answers.items()}
               for one in pool)  # fmt: skip
    if not same:
        names = listed(notebook.file for notebook in pool)
        found.broken[stem] = (
            f"Several notebooks could be {stem}.ipynb ({names}): keep the one that counts, name it {stem}.ipynb and "
            "hand it in again."
        )
        return
    others = [notebook.file for notebook in rivals if notebook is not first]
    if others:
        found.notes.append(f"{first.file} was graded, {listed(others)} was not: delete the one that does not count.")
    found.notebooks[stem] = first


def _write_files(answers: dict[str, Answer], course: Released, files: Sequence[str], found: FromNotebooks) -> None:
    """One text a file out of its exercises' answers, each with what it takes from other cells."""
    asked = [exercise for exercise, answer in answers.items() if not answer.stands_alone]
    whole = {exercise: Parts("", answer.source, "") for exercise, answer in answers.items()}
    whole |= dict(zip(asked, parts_of([answers[name].question for name in asked]), strict=True)) if asked else {}
    for exercise in asked:
        if whole[exercise].magics:
            found.notes.append(f"Lines of IPython (% or !) in the answer to {exercise} were left out.")
        if whole[exercise].ignored:
            found.notes.append(
                f"Another cell of the notebook changes {listed(whole[exercise].ignored)} as well: only the answer cell "
                f"counts for {exercise}. Put into it what should."
            )
    broken = found.unread_exercises
    for stem, reason in found.broken.items():
        broken |= {name: reason for name in course.notebooks[stem].exercises if EXERCISES[name].file in files}
    for file in files:
        members = [name for name in EXERCISES if EXERCISES[name].file == file and course.of(name) is not None]
        there = [name for name in members if name in answers]
        if not there:
            reasons = [broken[name] for name in members if name in broken]
            if reasons:
                found.problems[file] = " ".join(dict.fromkeys(reasons))
            continue
        absent = [_stub(name, course, broken.get(name)) for name in members if name not in there]
        text = one_file([*absent, *(whole[name].text for name in there)])
        _warn_of_shared_names({name: whole[name].text for name in there}, answers, found)
        if len(text.encode()) > MAX_FILE_BYTES:
            found.problems[file] = f"The answers for {file} exceed {size_in_words(MAX_FILE_BYTES)}: shorten them."
        else:
            found.files[file] = text


def _stub(exercise: str, course: Released, problem: str | None) -> str:
    """The released answer cell: not attempted; or, where the notebook could not be read, the reason instead."""
    notebook = course.of(exercise)
    assert notebook is not None
    text = notebook.by_grade_id[f"{exercise}{ANSWER}"].source
    return text if problem is None else _TASK.sub(lambda _: f"raise RuntimeError({problem!r})", text)


def _warn_of_shared_names(texts: dict[str, str], answers: dict[str, Answer], found: FromNotebooks) -> None:
    """Two notebooks that make one file share their names: a helper that both define differently is worth a look."""
    definition = re.compile(
        r"^(?:(?:class|def|async def)[ \t]+(\w+)[^\n]*\n(?:[ \t]+[^\n]*\n|\n)*|(\w+)[ \t]*=(?!=)[^\n]*)", re.MULTILINE
    )
    seen: dict[str, tuple[str, str]] = {}
    shared: dict[tuple[str, str], dict[str, None]] = {}
    for exercise, text in texts.items():
        for match_ in definition.finditer(text + "\n"):
            name, body = match_[1] or match_[2], match_[0].strip()
            other = seen.setdefault(name, (exercise, body))
            if other[0] != exercise and other[1] != body:
                shared.setdefault((other[0], exercise), {})[name] = None
    for (first, second), names in shared.items():
        found.notes.append(
            f"The notebooks of {first} and {second}, which make one file ({EXERCISES[second].file}), both define "
            f"{listed(names)}: the second one counts for both."
        )
