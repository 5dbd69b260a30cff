"""A submission as a notebook of ours: the released one with the student's text in it, and nothing else of theirs.

Grade ids, points, locks and the check cell are the release's, outputs are dropped, prose is made inert. So whatever was
handed in, nbgrader meets the notebook that it knows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from grader.notebooks.answers import Notebook, is_own
from grader.notebooks.inert import inert
from grader.notebooks.parsing import Cell
from grader.notebooks.released import ANSWER, ReleasedNotebook


def rebuild(
    released: ReleasedNotebook, submitted: Notebook | None, files: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The JSON of the notebook. `files` are answers that were handed in as `.py` files, by exercise: they win."""
    content: dict[str, Any] = json.loads(released.path.read_text(encoding="utf-8"))
    cells: list[dict[str, Any]] = content["cells"]
    for cell in cells:
        cell["source"] = "".join(cell["source"])  # nbformat splits a cell into lines that keep their ends
        grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        exercise = grade_id.removesuffix(ANSWER)
        if files and exercise in files:
            cell["source"] = files[exercise]
        elif submitted is not None and grade_id.endswith(ANSWER):
            cell["source"] = submitted.answers[exercise].source
        elif submitted is not None and grade_id in submitted.replies:
            cell["source"] = inert(submitted.replies[grade_id])
    if submitted is not None and not files:
        _insert_own(cells, submitted)
    return content


def _insert_own(cells: list[dict[str, Any]], submitted: Notebook) -> None:
    """Put the student's own cells where they stood: each after the released cell that it followed."""
    released = submitted.released
    position = 0
    number = 0
    ids = [cell["id"] for cell in cells]
    counted = {source for answer in submitted.answers.values() for source in answer.others}
    for cell in submitted.cells:
        known = released.by_grade_id.get(cell.grade_id) or released.by_id.get(cell.id)
        if known is not None and known.id in ids:
            position = max(position, ids.index(known.id) + 1)
        is_theirs = is_own(cell, released) or cell.source in counted
        if is_theirs and cell.source.strip() and not _is_answer(cell, submitted):
            number += 1
            cells.insert(position, _own_cell(cell, f"own-{number}"))
            ids.insert(position, f"own-{number}")
            position += 1


def _is_answer(cell: Cell, submitted: Notebook) -> bool:
    return any(answer.source == cell.source for answer in submitted.answers.values())


def _own_cell(cell: Cell, cell_id: str) -> dict[str, Any]:
    common = {"id": cell_id, "metadata": {}}
    if cell.kind == "code":
        return {**common, "cell_type": "code", "execution_count": None, "outputs": [], "source": cell.source}
    return {**common, "cell_type": "markdown", "source": inert(cell.source)}
