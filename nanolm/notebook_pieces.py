"""A student's own parts for a notebook that uses several exercises: from `exercises/` or from the other notebooks."""

from __future__ import annotations

import ast
import json
import linecache
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from nanolm.answer_parts import parts
from nanolm.course import EXERCISES, Exercise, course_above
from nanolm.implementation import DEFAULT
from nanolm.notebook_cells import GIVEN, bound_names
from nanolm.sources import PackageSource


def pieces(*names: str) -> Any:
    """What a student has written under these names: one object for one name, else a tuple of them.

    Each comes from the exercise's file in `exercises/`; where the stub still stands there, from the saved notebook of
    that exercise in the working directory. Raises ValueError for a name that no exercise asks for and
    NotImplementedError where neither place has it.
    """
    asked = [(name, _exercise_of(name)) for name in names]
    root = course_above(Path.cwd())
    if root is None:
        raise FileNotFoundError("there is no course here or above: start the notebook inside the course's folder")
    made: dict[Path, Mapping[str, Any]] = {}
    modules = [_names_with(name, exercise, root, made) for name, exercise in asked]
    missing = [
        f"{name} (exercises/{one.file})" for (name, one), module in zip(asked, modules, strict=True) if not module
    ]
    if missing:
        first = asked[modules.index(None)][1].id
        raise NotImplementedError(f"{first}: write {', '.join(missing)}, there or in the exercise's notebook; save it")
    found = tuple(module[name] for name, module in zip(names, modules, strict=True) if module is not None)
    return found[0] if len(found) == 1 else found


def _exercise_of(name: str) -> Exercise:
    for exercise in EXERCISES.values():
        if name in exercise.names:
            return exercise
    raise ValueError(f"no exercise asks for {name!r}")


def _names_with(
    name: str, exercise: Exercise, root: Path, made: dict[Path, Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """The names of the first place where this one is written; `made` keeps what was executed already."""
    file = root / DEFAULT / exercise.file
    if file.is_file() and _is_written(name, file.read_text(encoding="utf-8", errors="replace")):
        if file not in made:
            sys.path[:0] = [] if str(root) in sys.path else [str(root)]
            sys.modules.pop(f"{DEFAULT}.{file.stem}", None)  # it may have been edited since
            made[file] = PackageSource(DEFAULT, file.parent).names(file.name)
        return made[file]
    for notebook in sorted(Path.cwd().glob(f"*_{exercise.id}.ipynb")):
        text = _answer(exercise, notebook)
        if _is_written(name, text):
            if notebook not in made:
                made[notebook] = _executed(text, notebook)
            return made[notebook]
    return None


def _is_written(name: str, text: str) -> bool:
    """Whether a text gives the name something else than the stub; a text that is no Python does not say."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return bool(text.strip())
    defined = [node for node in body if getattr(node, "name", None) == name]
    return name in bound_names(text) and not any("raise NotImplementedError" in ast.unparse(node) for node in defined)


def _answer(exercise: Exercise, notebook: Path) -> str:
    """The answer cell of a notebook with what it uses of the student's other cells."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [(cell, "".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]
    answer = [
        text for cell, text in code if cell["metadata"].get("nbgrader", {}).get("grade_id") == f"{exercise.id}-answer"
    ]
    others = [text for _, text in code if not text.startswith(GIVEN) and text not in answer]
    given = [text for _, text in code if text.startswith(GIVEN)]
    return parts(answer[0], others, given, sorted(exercise.names)).text if answer else ""


def _executed(text: str, notebook: Path) -> Mapping[str, Any]:
    module = ModuleType(notebook.stem)
    name = f"<{notebook.name}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)  # lines for tracebacks
    exec(compile(text, name, "exec", dont_inherit=True), vars(module))
    return vars(module)
