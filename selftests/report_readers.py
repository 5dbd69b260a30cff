"""How the consumers read what reports write: schemas from their published formats, and their importers' rules.

Sources: Gradescope's autograder specification; Exercism's test-runner interface; Canvas's `lib/gradebook_importer.rb`;
Moodle's `mod/assign/feedback/offline` and `grade/import/csv`; Autolab's `assessment_autograde_core.rb`. The rules are
written out again here, as far as they decide what becomes of a row.
"""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Annotated, Any, Literal

import msgspec

Visibility = Literal["hidden", "after_due_date", "after_published", "visible"]
TextFormat = Literal["text", "html", "simple_format", "md", "ansi"]


class GradescopeTest(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    number: str
    score: float
    max_score: float
    output: str
    tags: list[str]
    status: Literal["passed", "failed"] | msgspec.UnsetType = msgspec.UNSET
    name_format: TextFormat = "text"
    output_format: TextFormat = "text"
    visibility: Visibility = "visible"
    extra_data: dict[str, Any] = {}


class GradescopeResults(msgspec.Struct, forbid_unknown_fields=True):
    output: str
    score: float | msgspec.UnsetType = msgspec.UNSET
    tests: list[GradescopeTest] | msgspec.UnsetType = msgspec.UNSET
    execution_time: float = 0.0
    output_format: TextFormat = "text"
    test_output_format: TextFormat = "text"
    test_name_format: TextFormat = "text"
    visibility: Visibility = "visible"
    stdout_visibility: Visibility = "hidden"
    extra_data: dict[str, Any] = {}

    @property
    def has_score(self) -> bool:
        """What the specification demands of a valid result."""
        return self.score is not msgspec.UNSET or self.tests is not msgspec.UNSET


class ExercismTest(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    status: Literal["pass", "fail", "error"]
    message: str | None
    task_id: Annotated[int, msgspec.Meta(ge=1)]
    test_code: str = ""
    output: Annotated[str, msgspec.Meta(max_length=500)] = ""


class ExercismResults(msgspec.Struct, forbid_unknown_fields=True):
    version: Literal[3]
    status: Literal["pass", "fail", "error"]
    message: str | None
    tests: list[ExercismTest]


def autolab_reads(output: str) -> dict[str, float | None]:
    """The scores that Autolab takes from an autograder's output; it raises where Autolab would store zeros."""
    last = output.rstrip().splitlines()[-1]
    parsed = json.loads(re.sub(r"([a-zA-Z0-9]+):", r'"\1":', last))  # Autolab quotes bare keys, wherever they stand
    assert parsed["scores"], "an empty autoresult makes every problem a zero"
    return dict(parsed["scores"])


def canvas_reads(text: str) -> dict[str, dict[str, str]]:
    """Title → student → grade, as the importer would offer them; it raises where the header is invalid."""
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    header = rows[0]
    assert len(header) > 3
    assert "Student" in header[0]
    assert "ID" in header[1]
    count = 3
    if re.search(r"SIS\s+User\s+ID", header[2]):
        assert re.search(r"SIS\s+Login\s+ID", header[3])
        count = 5
    assert "Section" in header[count - 1]
    skipped = re.compile("(Current|Final) (Score|Points|Grade)|Override")
    titles = {i: title for i, title in enumerate(header) if i >= count and not skipped.search(title)}
    found: dict[str, dict[str, str]] = {title: {} for title in titles.values()}
    for row in rows[1:]:
        muted = all(re.fullmatch(r"\s*(Muted|Manual Posting.*)?\s*", cell, re.IGNORECASE) for cell in row)
        if "Points Possible" in row[0] or muted:
            continue
        who = next(cell for cell in (row[1], row[2], row[3], row[0]) if cell)
        for index, title in titles.items():
            found[title][who] = row[index].strip()
    return found


def worksheet_reads(text: str) -> dict[str, float]:
    """Participant's number → grade that Moodle would store: no grade, and one out of range, are passed over."""
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    header = rows[0]
    place = {name: header.index(name) for name in ("Identifier", "Grade", "Last modified (grade)", "Maximum grade")}
    found = {}
    for row in rows[1:]:
        grade = row[place["Grade"]].strip()
        if re.fullmatch(r"\d+(\.\d+)?", grade) and 0 <= float(grade) <= float(row[place["Maximum grade"]]):
            found[row[place["Identifier"]].removeprefix("Participant ")] = float(grade)
    return found


def moodle_import_reads(text: str, known: set[str], column: str) -> dict[str, float | None]:
    """Id → grade for a new column: a dash is no grade, an empty cell a zero, an unknown student the end of it all."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    at = rows[0].index(column)
    found: dict[str, float | None] = {}
    for row in rows[1:]:
        assert row[0] in known, f"Moodle imports nothing, since it does not know {row[0]}"
        value = row[at].strip()
        found[row[0]] = None if value == "-" else float(value or 0)
    return found
