"""What `nanolm report` is asked in the golden tests. `python -m selftests.report_cases` writes the files anew."""

from __future__ import annotations

import json
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent / "golden" / "reports"
GRADES = str(GOLDEN / "grades.json")
ROSTER = ["--roster", str(GOLDEN / "roster.csv")]
LATE = ["--late", "10% per day, floor 40%, grace 2 hours", "--due", "2026-12-01T23:59+03:00",
        "--extensions", str(GOLDEN / "extensions.csv")]  # fmt: skip
CANVAS = ["--gradebook", str(GOLDEN / "canvas_export.csv"), "--assignment", "Module 6, graded"]
WORKSHEET = ["--gradebook", str(GOLDEN / "worksheet.csv")]

CASES: dict[str, tuple[int, list[str]]] = {
    "table.csv": (3, ["csv", GRADES, *ROSTER, *LATE]),
    "canvas_filled.csv": (3, ["canvas", GRADES, *ROSTER, *CANVAS]),
    "canvas_plain.csv": (3, ["canvas", GRADES, *ROSTER, *LATE, "--assignment", "Module 6"]),
    "worksheet_filled.csv": (3, ["moodle", GRADES, *ROSTER, *WORKSHEET, "--comments"]),
    "moodle_plain.csv": (3, ["moodle", GRADES, *ROSTER, *LATE, "--assignment", "Module 6"]),
    "gradescope.json": (0, ["gradescope", GRADES, "--submission", "b.petrov@example.org", *ROSTER, *LATE]),
    "gradescope_hostile.json": (0, ["gradescope", GRADES, "--submission", "f600", "--visibility", "after_due_date"]),
    "gradescope_ungradable.json": (3, ["gradescope", GRADES, "--submission", "d400"]),
    "autolab.txt": (0, ["autolab", GRADES, "--submission", "f600"]),
    "autolab_ungradable.txt": (3, ["autolab", GRADES, "--submission", "d400", "--exercise", "rmsnorm"]),
    "exercism.json": (0, ["exercism", GRADES, "--submission", "f600"]),
    "exercism_ungradable.json": (3, ["exercism", GRADES, "--submission", "d400"]),
}
"""Golden file → exit status and arguments."""


def made(name: str, folder: Path) -> tuple[int, bytes]:
    """Exit status and bytes of a case; the tests' own code, which is no report's, is left out."""
    from grader.reports.command import command

    path = folder / name
    status = command([*CASES[name][1], "-o", str(path)])
    if name.startswith("exercism"):
        data = json.loads(path.read_text(encoding="utf-8"))
        for test in data["tests"]:
            test.pop("test_code", None)
        path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return status, path.read_bytes()


def main() -> None:
    """Write every golden file; read the difference before it is kept."""
    for name in CASES:
        made(name, GOLDEN)


if __name__ == "__main__":
    main()
