"""Every English text that a student reads from a test, in one catalogue file: a second language is another file."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

LANGUAGE = "en"


@cache
def catalogue(language: str = LANGUAGE) -> dict[str, Any]:
    """The catalogue of a language: tables `checks`, `outcomes`, `tests`, `mistakes`, `scoreboard`."""
    return tomllib.loads((Path(__file__).parent / f"{language}.toml").read_text(encoding="utf-8"))


def text(table: str, key: str, **values: object) -> str:
    """One text with its placeholders filled in; a missing text is a bug of ours and raises KeyError."""
    template: str = catalogue()[table][key]
    return template.format(**values)


def mistake(mistake_id: str) -> dict[str, str]:
    """`title`, `question` and `section` of a named mistake."""
    entry: dict[str, str] = catalogue()["mistakes"][mistake_id]
    return entry


def question_of(test_name: str) -> str:
    """The question that a failing test asks, by the test's function name; empty where it asks none."""
    entry: dict[str, str] = catalogue()["tests"].get(test_name, {})
    return entry.get("question", "")
