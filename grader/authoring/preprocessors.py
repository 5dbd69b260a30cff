"""nbgrader's ClearSolutions, with our stubs: a solution region becomes the task that its marker names."""

from __future__ import annotations

from typing import Any

from nbgrader.preprocessors import ClearSolutions

from grader.stubs import make_stub


class ClearToStubs(ClearSolutions):  # type: ignore[misc]
    """As ClearSolutions, but each region of a code cell raises its own NotImplementedError, as in exercises/."""

    def _replace_solution_region(self, cell: Any, language: str) -> bool:
        if cell.cell_type != "code":
            return bool(super()._replace_solution_region(cell, language))
        stub = make_stub(cell.source, "answer cell").rstrip("\n")
        replaced: bool = stub != cell.source
        cell.source = stub
        return replaced
