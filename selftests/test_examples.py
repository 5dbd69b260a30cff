"""The examples in `docs/examples/` are what the reports give today."""

from __future__ import annotations

import pytest

from selftests.examples import FOLDER, rendered
from selftests.test_reports_markdown import check_inert


@pytest.fixture(scope="module")
def today() -> dict[str, str]:
    return dict(rendered())


def test_the_examples_are_current(today: dict[str, str]) -> None:
    """Where this fails, `python -m selftests.examples` renders them afresh; look at what has changed."""
    assert {path.name for path in FOLDER.iterdir()} == set(today)
    for name, text in today.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, name


def test_they_show_what_they_are_to_show(today: dict[str, str]) -> None:
    for name in ("summary.md", "comment.md"):
        check_inert(today[name])
        for words in (
            "rmsnorm-centering",
            "budget-round-down",
            "✅ passed",
            "❌ failed",
            "⬜ not attempted",
            "NameError",
        ):
            assert words in today[name]
    assert "exercises/qk_norm.py,line=" in today["annotations.txt"]
    assert '"check_name": "budget-round-down"' in today["code-quality.json"]
