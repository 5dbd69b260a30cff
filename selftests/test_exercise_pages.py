"""`docs/exercises/`: each exercise has its page, each mistake a witness, and each witness gives what is printed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from grader.bank import given, read_bank, read_gpu_bank
from nanolm.course import EXERCISES
from nanolm.texts import catalogue

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "exercises"
ANSWERS = ROOT / "source" / "module06" / "answers"
ROW = re.compile(
    r"^\| `(?P<id>[a-z_]+-[a-z0-9-]+)` \| `(?P<witness>[^`]+)` \| (?P<right>[^|]+) \| (?P<wrong>[^|]+) \|$"
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Witness:
    mistake: str
    witness: str
    right: str
    wrong: str


def witnesses(exercise: str) -> list[Witness]:
    """The rows of a page's table."""
    lines = (PAGES / f"{exercise}.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith(f"| `{exercise}-")]
    found = [ROW.match(row) for row in rows]
    assert all(found), [row for row, match in zip(rows, found, strict=True) if not match]
    return [Witness(*match.group("id", "witness", "right", "wrong")) for match in found if match]


def agrees(printed: str, value: Any) -> bool:
    """Whether a value, rounded as the page prints it, is what the page prints. Text without backquotes is prose."""
    if printed == "an error":
        return isinstance(value, str) and value.endswith(("Error", "Exception"))
    if not (printed.startswith("`") and printed.endswith("`")):
        return True
    printed = printed[1:-1]
    if isinstance(value, str | bool):
        return printed == str(value)
    printed = printed.replace("True", "true").replace("False", "false").replace("'", '"')
    shape = NUMBER.sub("#", printed.replace("nan", "0").replace("inf", "0"))
    text = json.dumps(value)
    if shape != NUMBER.sub("#", text.replace("-Infinity", "0").replace("Infinity", "0").replace("NaN", "0")):
        return False
    wanted = re.findall(rf"{NUMBER.pattern}|-?nan|-?inf", printed)
    got = re.findall(rf"{NUMBER.pattern}|NaN|-?Infinity", text)
    return all(_same(want, have) for want, have in zip(wanted, got, strict=True))


def _same(printed: str, got: str) -> bool:
    if printed.strip("-") in ("nan", "inf") or got.strip("-") in ("NaN", "Infinity"):
        return printed == got.replace("NaN", "nan").replace("Infinity", "inf")
    want, have = Decimal(printed), Decimal(got)
    exponent = want.as_tuple().exponent
    assert isinstance(exponent, int)
    if "." not in got and "e" not in got.lower():
        return want == have
    # A whole number stands for itself, give or take rounding; otherwise half of the last digit printed.
    within = Decimal("0.501") * Decimal(10) ** exponent if exponent < 0 else Decimal("0.001")
    return abs(want - have) <= within


@pytest.mark.parametrize(
    ("printed", "value", "expected"),
    [
        ("`[1, 0.7071]`", [1.0, 0.70710678], True),
        ("`[1, 0.7072]`", [1.0, 0.70710678], False),
        ("`[1, 1]`", [1.0], False),
        ("`[[1], [2]]`", [[1.0], [2.0]], True),
        ("`[[1, 2]]`", [[1.0], [2.0]], False),
        ("`nan`", float("nan"), True),
        ("`0`", float("nan"), False),
        ("`inf`", float("-inf"), False),
        ("`11008`", 11008, True),
        ("`11008`", 11009, False),
        ("`16777216`", 16777217.0, False),
        ("`True`", True, True),
        ("`True`", False, False),
        ("`[True]`", [True], True),
        ("`[True]`", [False], False),
        ("`['a', 1]`", ["a", 1], True),
        ("`float16`", "float32", False),
        ("`ValueError`", "ValueError", True),
        ("`1`", "ValueError", False),
        ("an error", "TypeError", True),
        ("an error", 1.0, False),
        ("`-7.8e-05`", -7.83e-05, True),
        ("`-7.8e-05`", -3.7e-04, False),
        ("whatever was drawn", 3.0, True),
    ],
)
def test_a_printed_value_agrees_to_its_digits(printed: str, value: Any, expected: bool) -> None:
    assert agrees(printed, value) is expected


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_mistake_of_the_catalogue_has_a_row(exercise: str) -> None:
    listed = [witness.mistake for witness in witnesses(exercise)]
    # What only an accelerator shows has its rows on docs/gpu.md.
    elsewhere = {mistake for specimen in read_gpu_bank(ROOT) for mistake in specimen.mistakes}
    told = {name for name in catalogue()["mistakes"] if name.partition("-")[0] == exercise}
    assert sorted(listed) == sorted(told - elsewhere)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_witnesses_give_what_the_page_prints(exercise: str) -> None:
    table = witnesses(exercise)
    file = EXERCISES[exercise].file
    solution = (ROOT / "solutions" / file).read_text(encoding="utf-8")
    bank = [specimen for specimen in read_bank(ROOT) if specimen.kind == "rejected" and specimen.exercise == exercise]
    texts = [solution, *(specimen.text for specimen in bank)]
    expressions = [row.witness for row in table]
    request = [[{**given(ROOT), file: text}, file, expressions] for text in texts]
    run = subprocess.run(
        [sys.executable, "-m", "selftests.witnesses"],
        input=json.dumps(request), capture_output=True, text=True, cwd=ROOT, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    reference, *others = json.loads(run.stdout)
    problems = []
    for number, row in enumerate(table):
        if not agrees(row.right, reference[number]):
            problems.append(f"{row.mistake}: the reference gives {reference[number]}, not {row.right}")
        given_by_bank = {
            specimen.label: values[number]
            for specimen, values in zip(bank, others, strict=True)
            if specimen.mistakes == (row.mistake,)
        }
        agreeing = [value for value in given_by_bank.values() if agrees(row.wrong, value)]
        if any(agrees(row.right, value) for value in agreeing if row.wrong.startswith("`")):
            problems.append(f"{row.mistake}: to the digits that are printed, {row.wrong} is the right answer too")
        if not agreeing:
            problems.append(f"{row.mistake}: the page prints {row.wrong}, the bank gives {given_by_bank}")
        if row.right == row.wrong:
            problems.append(f"{row.mistake}: the witness does not tell it from the right answer")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_page_has_its_parts_and_its_questions_have_answers(exercise: str) -> None:
    page = (PAGES / f"{exercise}.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert headings == ["Goal", "Shapes", "A number to compute by hand", "Named mistakes", "Questions"]
    points, file = EXERCISES[exercise].points, EXERCISES[exercise].file
    assert f"`exercises/{file}` · {points:g} points · {EXERCISES[exercise].section} ·" in page
    questions = re.findall(r"^(\d+)\. ", page.partition("## Questions")[2], re.MULTILINE)
    answers = re.findall(r"^(\d+)\. \*\*", (ANSWERS / f"{exercise}.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert questions == answers
    assert len(questions) >= 3
