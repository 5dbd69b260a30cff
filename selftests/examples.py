"""Renders the examples of `docs/examples/`, one submission in each format, when it is run as a module."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from grader.grading import grade_paths
from grader.reports.annotations import annotate
from grader.reports.github import workflow_commands
from grader.reports.gitlab import code_quality
from grader.reports.location import sources_of
from grader.reports.markdown import comment, summary
from grader.session import Settings
from selftests.making_submissions import folder
from selftests.running_grade import ANSWERS, ROOT, STUBS

FOLDER = ROOT / "docs" / "examples"
COMMIT = "4f1c0a9e6d2b8375c4e1f0a9b8d7c6e5f4a3b2c1"


def submission() -> dict[str, str]:
    """A student on the third evening: two known mistakes, a misspelt name, two files not begun."""
    texts = dict(ANSWERS)
    for file, there, above in (
        ("modules.py", "        wide = x.to(", "        x = x - x.mean(-1, keepdim=True)\n"),
        ("qk_norm.py", "def soft_cap(", "def soft_cap(scores, cap):\n    return bound(scores)\n\n\n"),
    ):
        assert texts[file].count(there) == 1, file
        texts[file] = texts[file].replace(there, above + there)
    # Of two definitions Python keeps the last: the right one goes by another name.
    texts["qk_norm.py"] = texts["qk_norm.py"].replace("def soft_cap(scores: Tensor", "def unused(scores: Tensor")
    mistake = ROOT / "mistakes" / "rejected" / "budget" / "round-down.py"
    texts["budget.py"] = mistake.read_text(encoding="utf-8")
    texts |= {file: STUBS[file] for file in ("hyper_connections.py", "elementwise.py")}
    return {f"exercises/{file}": text for file, text in texts.items()}


def rendered() -> Mapping[str, str]:
    """Name and text of every example."""
    with tempfile.TemporaryDirectory() as scratch:
        there = folder(Path(scratch) / "pull-7", submission())
        (result,) = grade_paths([there], Settings(ROOT), processes=1)
        sources = sources_of(there, there)
    return {
        "summary.md": summary([result]),
        "comment.md": comment(result, COMMIT),
        "annotations.txt": "".join(f"{line}\n" for line in workflow_commands(annotate(result, sources))),
        "code-quality.json": json.dumps(code_quality([result], [sources]), indent=1, ensure_ascii=False) + "\n",
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in rendered().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"docs/examples/{name}")
