"""Answer cells and written questions: what a notebook takes from solutions/, docs/exercises/ and source/answers/."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from grader.stubs import TASK
from nanolm.course import EXERCISES

ITEM = re.compile(r"^(\d+)\. ", re.MULTILINE)
COURSES_OWN = re.compile(r"\s*\*\((?:the course's own|interview question)[^)]*\)\*")


class AuthoringError(ValueError):
    """A text, a solution or a page that no notebook can be made from; the text is one sentence for the author."""


def answer_text(root: Path, exercise: str) -> str:
    """What is written of an exercise, solved and with its markers: a piece of its file that stands by itself.

    The file's imports and everything that belongs to no other exercise of the same file; not its docstring, which the
    notebook's prose replaces. So the answer cells of a file's exercises, one after the other, are that file.
    """
    name = EXERCISES[exercise].file
    text = (root / "solutions" / name).read_text(encoding="utf-8")
    lines = text.splitlines()
    body = ast.parse(text).body
    starts = [min(part.lineno for part in (node, *getattr(node, "decorator_list", ()))) - 1 for node in body]
    kept = []
    for node, start, end in zip(body, starts, [*starts[1:], len(lines)], strict=True):
        chunk = lines[start:end]
        tasks = {match["exercise"] for match in map(TASK.match, chunk) if match}
        docstring = node is body[0] and ast.get_docstring(ast.Module(body=[node], type_ignores=[])) is not None
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not docstring and not future and (not tasks or exercise in tasks):
            kept += chunk
    if not any(TASK.match(line) for line in kept):
        raise AuthoringError(f"solutions/{name} has no region of {exercise}")
    # A notebook is no package: what a file finds beside itself, it finds in `exercises`.
    joined = re.sub(r"^from \.(\w+) import", r"from exercises.\1 import", "\n".join(kept), flags=re.MULTILINE)
    return joined.strip("\n")


def question_text(root: Path, exercise: str, number: int) -> str:
    """A question of the exercise's page."""
    page = root / "docs" / "exercises" / f"{exercise}.md"
    _, found, questions = page.read_text(encoding="utf-8").partition("\n## Questions\n")
    if not found:
        raise AuthoringError(f"{page.name} has no section of questions")
    return COURSES_OWN.sub("", _item(questions, number, page))


def notes_text(root: Path, exercise: str, number: int) -> str:
    """What a good answer to that question contains: for instructors only."""
    page = root / "source" / "answers" / f"{exercise}.md"
    return _item(page.read_text(encoding="utf-8"), number, page)


def _item(text: str, number: int, page: Path) -> str:
    """One item of a numbered list, as running text."""
    items = list(ITEM.finditer(text))
    for match, following in zip(items, [*items[1:], None], strict=True):
        if int(match[1]) == number:
            body = text[match.end() : following.start() if following else len(text)]
            return " ".join(body.split())
    raise AuthoringError(f"{page.name} has no item {number}")
