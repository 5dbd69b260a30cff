"""A CSV file for people: everything about a class that fits into a table, safe to open in a spreadsheet."""

from __future__ import annotations

from collections.abc import Sequence

from grader.late import hundredths
from grader.reports.cells import BOM, harmless, points, sheet_text
from grader.reports.rows import GRADED, Row
from nanolm.scoreboard import by_exercise, exercise_status
from nanolm.untrusted import printable

HEADS = ("id", "name", "submission", "status", "score", "max_score", "earned", "hours_late", "penalty")


def spreadsheet(rows: Sequence[Row]) -> str:
    """One line a row; a score is empty where there is none. It begins with a byte-order mark, which Excel needs."""
    exercises = list(dict.fromkeys(name for row in rows for name in by_exercise(row.result.verdicts)))
    table = [[*HEADS, *exercises, "root causes", "reason"]]
    for row in rows:
        graded = row.status == GRADED and row.score is not None
        grouped = by_exercise(row.result.verdicts)
        late = "" if row.seconds_late is None else points(row.seconds_late / 3600)
        cells = [
            *(harmless(printable(text)) for text in (row.key, row.name, row.result.name)),
            row.status,
            points(row.score or 0.0) if graded else "",
            points(row.result.max_score),
            points(row.result.score) if graded else "",
            late,
            points(hundredths(row.penalty)) if row.penalty else "",
        ]
        for name in exercises:
            members = grouped.get(name, [])
            attempted = members and exercise_status(members) != "not_attempted"
            cells.append(points(sum(v.score for v in members)) if attempted else "")
        causes = "; ".join(cause.id for cause in row.result.root_causes) if graded else ""
        table.append([*cells, causes, harmless(printable(row.reason, 400))])
    return BOM + sheet_text(table, end="\r\n")
