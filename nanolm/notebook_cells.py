"""Which text of a running notebook makes up an answer: what the check cell reads the from-scratch rule off.

Grading takes an answer apart with the same function, `nanolm.answer_parts.parts`; here the cells come from the kernel's
history, where each stands as often as it was run. Nothing is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from nanolm.answer_parts import parts

GIVEN = "# Given"
"""First characters of every code cell that comes with a notebook and is no part of an answer."""


def cells_run(namespace: Mapping[str, Any]) -> list[str] | None:
    """The text of every cell that was run, oldest first; None where this is no notebook."""
    shell = namespace["get_ipython"]() if callable(namespace.get("get_ipython")) else None
    history = getattr(getattr(shell, "history_manager", None), "input_hist_raw", None) or namespace.get("In")
    return [str(cell) for cell in history] if isinstance(history, list) else None


def answer_run(cells: Sequence[str], names: Collection[str]) -> str:
    """The text that has given a notebook `names`, with what it uses of other cells; empty where no cell did.

    A cell all of whose names a later one has bound again was replaced and says nothing any more.
    """
    current: list[str] = []
    bound_later: set[str] = set()
    for cell in reversed([cell for cell in cells if not cell.startswith(GIVEN)]):
        bound = bound_names(cell)
        if not bound or not bound <= bound_later:
            current.insert(0, cell)
        bound_later |= bound
    last = {name: place for place, cell in enumerate(current) for name in bound_names(cell) & set(names)}
    given = [cell for cell in cells if cell.startswith(GIVEN)]
    answers = sorted(set(last.values()))
    others = [cell for place, cell in enumerate(current) if place not in answers]
    return "\n\n\n".join(parts(current[place], others, given).text for place in answers)


def bound_names(cell: str) -> set[str]:
    """Classes, functions and plain names that a cell binds at its top; of a cell that is no Python none."""
    try:
        body = ast.parse(_without_cell_magic(cell)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    bound: set[str] = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound.update(name.asname or name.name.partition(".")[0] for name in node.names)
        else:
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            bound.update(
                part.id
                for target in targets
                if target is not None
                for part in ast.walk(target)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            )
    return bound


def _without_cell_magic(cell: str) -> str:
    first, _, rest = cell.lstrip().partition("\n")
    return rest if first.startswith("%%") else cell
