"""Moodle: the offline grading worksheet of an assignment, an exported gradebook, or a CSV for its grade import.

As Moodle reads them: the worksheet (`mod/assign/feedback/offline`) must have `Identifier`, `Grade` and
`Last modified (grade)`; a row without a grade is passed over, and so is, without a word, one above the maximum. The
grade import (`grade/import/csv`) lets its user say what each column is and passes other columns over, so a status has a
place; a student whom it does not know stops all of it. There a dash is "no grade": an empty cell of a new column would
be stored as a zero.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import replace

from grader.reports.cells import Sheet, SheetError, harmless, points, sheet_text, value_at
from grader.reports.gradebook import Filled, Target, column_named, fill, ids_of, number
from grader.reports.rows import GRADED, Row, comment

NEEDS = ("Identifier", "Grade", "Email address", "ID number")
WORKSHEET = ("identifier", "grade", "last modified (grade)")
IDS = ("ID number", "Username", "Email address")
PARTICIPANT, BULK = "Participant ", "assignsubmission"
"""The worksheet's `Identifier` is `Participant 4711`; so is the number in a name of the bulk download, and no other."""
NO_GRADE = "-"


def filled(
    sheet: Sheet,
    rows: Sequence[Row],
    assignment: str | None = None,
    match: str | None = None,
    scale: bool = False,
    comments: bool = False,
) -> Filled:
    """A worksheet, or an exported gradebook with the column of `assignment`, filled in. Raises SheetError."""
    names = [name.casefold() for name in sheet.header]
    students = range(1, len(sheet.rows))
    columns = ids_of(sheet, (match,) if match else IDS, students, prefix=PARTICIPANT)
    if not match:
        for ids in ids_of(sheet, ("Identifier",), students, prefix=PARTICIPANT):
            columns.append(replace(ids, of=lambda row: row.result.name if BULK in row.result.name else ""))
    if not set(WORKSHEET) <= set(names):
        if assignment is None:
            raise SheetError(
                "this is no grading worksheet (Identifier, Grade, Last modified (grade); Moodle set to English writes "
                "it so): for another gradebook say which column with --assignment"
            )
        column = column_named(sheet, assignment, range(len(names)))
        return fill(sheet, rows, Target(column, students, None), columns, scale=scale)
    if "maximum grade" not in names:
        raise SheetError("the worksheet has no `Maximum grade`: assignments with a scale cannot take points")
    maximum = names.index("maximum grade")
    maxima = {number(value) for value in sheet.column(maximum) if value}
    most = maxima.pop() if len(maxima) == 1 else None
    if most is None:
        raise SheetError("the worksheet's `Maximum grade` is not one number for all: download it again")
    if comments and "feedback comments" not in names:
        raise SheetError("the worksheet has no `Feedback comments`: turn that feedback on in the assignment's settings")
    changeable = names.index("grade can be changed") if "grade can be changed" in names else None

    def locked(line: int) -> str:
        return "locked" if changeable is not None and value_at(sheet.rows[line], changeable).casefold() == "no" else ""

    target = Target(
        names.index("grade"), students, most, locked,
        comments=names.index("feedback comments") if comments else None, escape=html.escape,
    )  # fmt: skip
    return fill(sheet, rows, target, columns, scale=scale)


def plain(rows: Sequence[Row], assignment: str, match: str = "ID number") -> str:
    """A file for the grade import, made of the roster; `match` is the heading of its ids."""
    table = [[match, "Full name", harmless(assignment), "Maximum grade", "Status", "Feedback"]]
    for row in rows:
        graded = row.status == GRADED and row.score is not None
        table.append(
            [
                row.key,
                harmless(row.name),
                points(row.score or 0.0) if graded else NO_GRADE,
                points(row.result.max_score),
                row.status,
                html.escape(comment(row)),
            ]
        )
    return sheet_text(table, end="\r\n")
