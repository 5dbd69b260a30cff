"""Canvas: its gradebook's CSV, filled in from its own export or written anew.

As Canvas reads it (`lib/gradebook_importer.rb`): the first columns are `Student`, `ID`, then `SIS User ID` and
`SIS Login ID`, then `Section`; every other column is an assignment, `Title (number)`, and one that Canvas does not know
becomes a new assignment. So there is no place for a status. A row that begins with `Points Possible` holds the maxima.
A student is found by `ID`, then by the SIS ids, then by name. An empty cell over a grade removes the grade: only the
filled export leaves those alone that have none here.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.reports.cells import Sheet, SheetError, harmless, points, sheet_text, value_at
from grader.reports.gradebook import Filled, Ids, Target, column_named, fill, ids_of, number
from grader.reports.rows import GRADED, Row

NEEDS = ("Student", "ID", "Section")
IDS = ("SIS User ID", "SIS Login ID", "Integration ID")
OWN_ID = ("ID",)
"""Canvas's own number of a student; it is taken for an id only where there is no other, or where it is asked for."""
POINTS = "    Points Possible"
STAYS = {"EX": "excused", "N/A": "not assigned"}
READ_ONLY = "read only"


def filled(sheet: Sheet, rows: Sequence[Row], assignment: str, match: str | None = None, scale: bool = False) -> Filled:
    """An exported gradebook with the grades in the column of `assignment`. Raises SheetError."""
    header = sheet.header
    names = [name.casefold() for name in header]
    if not {"id", "section"} <= set(names) or names[0] not in ("student", "lastname"):
        raise SheetError(f"this is no gradebook of Canvas, whose first columns are {', '.join(NEEDS)}: export it there")
    points_rows = [n for n, row in enumerate(sheet.rows) if "points possible" in value_at(row, 0).casefold()]
    possible = sheet.rows[points_rows[0]] if points_rows else ()
    among = [
        index
        for index in range(names.index("section") + 1, len(header))
        if READ_ONLY not in value_at(possible, index).casefold()
    ]
    column = column_named(sheet, assignment, among)
    students = [n for n in range(1, len(sheet.rows)) if n not in points_rows and value_at(sheet.rows[n], 0)]
    chosen = (match,) if match else IDS if {name.casefold() for name in IDS} & set(names) else OWN_ID
    target = Target(
        column,
        students,
        number(value_at(possible, column)) or None,
        locked=lambda line: STAYS.get(value_at(sheet.rows[line], column).upper(), ""),
    )
    columns: list[Ids] = ids_of(sheet, chosen, students)
    return fill(sheet, rows, target, columns, scale=scale)


def plain(rows: Sequence[Row], assignment: str, match: str = "SIS Login ID") -> str:
    """A gradebook of one assignment, made of the roster; `match` is the column that takes its ids."""
    places = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    if match not in places[1:4]:
        raise SheetError(f"ids can go into {', '.join(places[1:4])}, not into {match!r}")
    most = max((row.result.max_score for row in rows), default=0.0)
    table = [[*places, harmless(assignment)], [POINTS, "", "", "", "", points(most)]]
    for row in rows:
        cells = [harmless(row.name or row.key), "", "", "", "", ""]
        cells[places.index(match)] = row.key
        cells[-1] = points(row.score) if row.status == GRADED and row.score is not None else ""
        table.append(cells)
    return sheet_text(table, end="\r\n")
