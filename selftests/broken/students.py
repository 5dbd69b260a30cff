"""Students whose names are hard on a table, a path, a CSV file or a terminal; and the roster of the whole class."""

from __future__ import annotations

import csv
import os
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from selftests.broken import RIGHT, Kind, healthy
from selftests.making_submissions import zipped

LONG = "n" * 240

IDS = [
    healthy("new\nline", reported="new\\x0aline"),
    healthy("tab\tbed", reported="tab\\x09bed"),
    healthy("carriage\rreturn", reported="carriage\\x0dreturn"),
    healthy("quo\"te's"),
    healthy("Doe, Jane; 4711"),
    healthy("-rf"),
    healthy("--json"),
    healthy("$(reboot) `id` %s {} *"),
    healthy("back\\slash"),
    healthy("[bold red]eve[-] \x1b[31m", reported="[bold red]eve[-] \\x1b[31m"),
    healthy("│ forged │ 18.0 of 18 │"),
    healthy("=cmd|' C'!A0"),
    healthy("Анна Каренина"),
    healthy("张伟"),
    healthy("🦉 owl"),
    healthy("\u202eanna", reported="\\u202eanna"),
    healthy("Zoe\u0308"),  # the roster writes it with one letter less, as most systems do
    healthy("line\u2028separator", reported="line\\u2028separator"),
    healthy(os.fsdecode(b"caf\xe9"), reported="caf\\udce9"),
    healthy(f"{LONG}-one"),
    healthy(f"{LONG}-two"),
    healthy("case", says="submissions fit this id"),
    healthy("CASE", says="submissions fit this id"),
    healthy(" leading"),
    healthy("trailing "),
    healthy(" ", says="Nobody on the roster", reported="\\x20"),
    healthy("\u3000", says="Nobody on the roster", reported="\\u3000"),
    healthy("\u200b", reported="\\u200b"),
    healthy("\u3164", reported="\\u3164"),
    healthy("CON"),
    healthy("null"),
    healthy("NaN"),
    healthy("007"),
    healthy("1e5"),
    healthy("both", says="submissions fit this id"),
    healthy("both.zip", lambda path: zipped(path, RIGHT), "submissions fit this id", reported="both.zip"),
]

MANY = [
    healthy("4711", says="submissions fit this id"),
    healthy("Doe Jane_4711_assignsubmission_file", says="submissions fit this id: decide which counts"),
    healthy("Nobody Knows", says="Nobody on the roster has this id."),
]

KINDS: list[Kind] = [*IDS, *MANY]

NOT_ON_IT = ("Nobody Knows", " ", "\u3000", os.fsdecode(b"caf\xe9"))
"""Submissions of nobody on the roster, and ids that no roster can hold."""

SECOND = ("CASE", "both.zip", "Doe Jane_4711_assignsubmission_file")
"""Second submissions of somebody."""

MISSING = (
    ("gone", 'Gone, "Long" O\'Neil'),
    ("../x", "Climber"),
    ("..x", "Hidden"),
    ("red\x1b[31m", "\x1b[31mRed"),
    ("far\naway", "<b>B</b>"),
)
"""Students who have handed in nothing."""


def write_roster(path: Path, kinds: Sequence[Kind]) -> int:
    """Everybody by the names of their folders, and some who handed in nothing; the number of students."""
    ids = [unicodedata.normalize("NFC", kind.id) for kind in kinds if kind.entry not in (*NOT_ON_IT, *SECOND)]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "name"), *((one, f"Student, {one}") for one in ids), *MISSING])
    return len(ids) + len(MISSING)
