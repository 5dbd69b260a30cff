"""Exercism's `results.json`, version 3, of one submission."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.results import SubmissionResult
from nanolm.course import EXERCISES
from nanolm.protocol import Outcome
from nanolm.untrusted import printable
from nanolm.verdict import Verdict

MAX_MESSAGE = 16000
"""The interface allows a top-level message of 65535 bytes; four for a character."""

ERRORS = frozenset(
    {Outcome.EXCEPTION, Outcome.TIMEOUT, Outcome.OUT_OF_MEMORY, Outcome.CRASHED, Outcome.FORBIDDEN,
     Outcome.INFRASTRUCTURE}
)  # fmt: skip
"""Outcomes of a test that did not come to an answer."""


def exercism(result: SubmissionResult, test_code: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The content of `results.json`; `test_code` has the body of each test by its id, parameters left out.

    Tests without points, which are not run everywhere, are left out where they were not run.
    """
    if result.ungradable:
        return {"version": 3, "status": "error", "message": printable(result.ungradable, MAX_MESSAGE), "tests": []}
    ran = [verdict for verdict in result.verdicts if verdict.outcome is not Outcome.NOT_RUN_HERE]
    tests = [_test(verdict, test_code or {}) for verdict in ran]
    statuses = {test["status"] for test in tests}
    if statuses == {"error"}:
        return {"version": 3, "status": "error", "message": tests[0]["message"], "tests": tests}
    return {"version": 3, "status": "pass" if statuses == {"pass"} else "fail", "message": None, "tests": tests}


def _test(verdict: Verdict, test_code: Mapping[str, str]) -> dict[str, Any]:
    name = verdict.test.rpartition("::")[2]
    data: dict[str, Any] = {
        "name": f"{verdict.exercise}: {name.removeprefix('test_').replace('_', ' ')}",
        "status": "pass" if verdict.outcome is Outcome.PASSED else "error" if verdict.outcome in ERRORS else "fail",
        "message": None,
        "task_id": list(EXERCISES).index(verdict.exercise) + 1,
    }
    if verdict.outcome is not Outcome.PASSED:
        told = verdict.message or verdict.outcome.value.replace("_", " ")
        data["message"] = printable(told, MAX_MESSAGE, newlines=True)
    code = test_code.get(verdict.test.partition("[")[0])
    return {**data, "test_code": code} if code else data


def read_test_code(root: Path) -> dict[str, str]:
    """The body of each test function of a course by its id. The tests are ours and are read, not imported."""
    found = {}
    for path in sorted((root / "tests").glob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        rows = text.splitlines()
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                body = rows[node.body[0].lineno - 1 : node.end_lineno]
                found[f"tests/{path.name}::{node.name}"] = textwrap.dedent("\n".join(body))
    return found
