"""The grade as JUnit XML, as GitLab and most build servers read it: a suite an exercise, a case a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as Xml

from grader.reports.location import Sources, locate
from grader.results import SubmissionResult
from grader.submissions import MAX_NAME
from nanolm.protocol import Outcome
from nanolm.scoreboard import by_exercise
from nanolm.untrusted import printable
from nanolm.verdict import Verdict

SKIPPED = (Outcome.NOT_ATTEMPTED, Outcome.NOT_RUN_HERE)
MESSAGE_LIMIT = 8000
SHORT = 300


def junit_xml(results: Sequence[SubmissionResult], sources: Sequence[Sources] | None = None) -> str:
    """The XML of a whole run. `sources`, one for each result, give failed cases their file and line."""
    top = Xml.Element("testsuites", name="nanolm")
    for result, files in zip(results, sources or [{}] * len(results), strict=True):
        _add(top, result, files, prefix=f"{printable(result.name, MAX_NAME)}: " if len(results) > 1 else "")
    for count in ("tests", "failures", "errors", "skipped"):
        top.set(count, str(sum(int(suite.get(count, 0)) for suite in top)))
    Xml.indent(top)
    # ElementTree escapes markup; what XML cannot hold at all, `printable` has written out.
    return "<?xml version='1.0' encoding='utf-8'?>\n" + Xml.tostring(top, encoding="unicode") + "\n"


def _add(top: Xml.Element, result: SubmissionResult, sources: Sources, prefix: str) -> None:
    if result.ungradable:
        counts = {"tests": 1, "failures": 0, "errors": 1, "skipped": 0}
        suite = _suite(top, f"{prefix}submission", counts)
        case = Xml.SubElement(suite, "testcase", classname="submission", name="can be graded", time="0")
        _told(case, "error", "ungradable", result.ungradable)
        return
    for name, members in by_exercise(result.verdicts).items():
        failed = [each for each in members if each.outcome not in (Outcome.PASSED, *SKIPPED, Outcome.INFRASTRUCTURE)]
        counts = {
            "tests": len(members),
            "failures": len(failed),
            "errors": sum(each.outcome is Outcome.INFRASTRUCTURE for each in members),
            "skipped": sum(each.outcome in SKIPPED for each in members),
        }
        suite = _suite(top, f"{prefix}{name}", counts)
        suite.set("time", f"{sum(each.seconds for each in members):.3f}")
        points = Xml.SubElement(suite, "properties")
        for key, value in (("score", _sum(members, "score")), ("max_score", _sum(members, "max_score"))):
            Xml.SubElement(points, "property", name=key, value=f"{value:g}")
        for verdict in members:
            _add_case(suite, verdict, sources)


def _suite(top: Xml.Element, name: str, counts: Mapping[str, int]) -> Xml.Element:
    return Xml.SubElement(top, "testsuite", {"name": name, **{key: str(count) for key, count in counts.items()}})


def _sum(members: Sequence[Verdict], key: str) -> float:
    return sum(float(getattr(verdict, key)) for verdict in members)


def _add_case(suite: Xml.Element, verdict: Verdict, sources: Sources) -> None:
    module, _, name = verdict.test.partition("::")
    classname = module.removesuffix(".py").replace("/", ".")
    case = Xml.SubElement(suite, "testcase", classname=classname, name=name, time=f"{verdict.seconds:.3f}")
    if verdict.outcome in SKIPPED:
        Xml.SubElement(case, "skipped", message=verdict.outcome.value.replace("_", " "))
    elif verdict.outcome is not Outcome.PASSED:
        where = locate(verdict, sources)
        if where is not None:
            case.set("file", where.path)
            case.set("line", str(where.line))
        kind = "error" if verdict.outcome is Outcome.INFRASTRUCTURE else "failure"
        _told(case, kind, verdict.outcome.value, verdict.message)


def _told(case: Xml.Element, kind: str, outcome: str, message: str) -> None:
    shown = printable(message, MESSAGE_LIMIT, newlines=True)
    told = Xml.SubElement(case, kind, type=outcome, message=printable(shown.partition("\n")[0], SHORT))
    told.text = shown
