"""GitLab's Code Quality report: the annotations as a merge request's widget reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from grader.reports.annotations import Annotation, annotate
from grader.reports.location import Sources
from grader.results import SubmissionResult


def code_quality(results: Sequence[SubmissionResult], sources: Sequence[Sources]) -> list[dict[str, Any]]:
    """One issue for each annotation; two issues of a report never share a fingerprint."""
    found = [note for result, files in zip(results, sources, strict=True) for note in annotate(result, files)]
    issues, seen = [], set()
    for note in found:
        issue = _issue(note)
        if issue["fingerprint"] not in seen:
            seen.add(issue["fingerprint"])
            issues.append(issue)
    return issues


def _issue(note: Annotation) -> dict[str, Any]:
    # Not the line: an issue stays the same while code above it grows.
    parts = "\0".join([note.where.path, note.check, *note.tests])
    return {
        "description": f"{note.title}\n{note.message}",
        "check_name": note.check,
        "fingerprint": hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest(),
        "severity": "major",
        "location": {"path": note.where.path, "lines": {"begin": note.where.line}},
    }
