"""Annotations, log commands, check runs, JUnit XML and GitLab's report: the right line, limits kept, inert text."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from grader.reports.annotations import Annotation, annotate
from grader.reports.github import MESSAGE_BYTES, PER_REQUEST, PER_STEP, check_runs, command, workflow_commands
from grader.reports.gitlab import code_quality
from grader.reports.junit import junit_xml
from grader.reports.location import ENTRY_POINTS, Location, SourceFile, locate, sources_of
from grader.results import SubmissionResult
from nanolm.course import EXERCISES
from nanolm.protocol import Outcome
from selftests.github_payloads import HOSTILE
from selftests.making_results import SOURCES, TEXT, hostile, result, verdict
from selftests.making_submissions import folder, zipped

ROOT = Path(__file__).resolve().parent.parent
COMMIT = "ab12" * 10

# ── Where it points ──────────────────────────────────────────────────────────────────────────────────────────────────


def line(message: str, text: str = TEXT, exercise: str = "rmsnorm") -> int:
    file = EXERCISES[exercise].file
    where = locate(verdict("test_x", exercise, message=message), {file: SourceFile(f"exercises/{file}", text)})
    assert where is not None
    assert where.path == f"exercises/{file}"
    return where.line


def test_the_entry_points_are_those_of_the_stubs() -> None:
    for exercise, names in ENTRY_POINTS.items():
        tree = ast.parse((ROOT / "exercises" / EXERCISES[exercise].file).read_text(encoding="utf-8"))
        tasks = f'NotImplementedError("{exercise}: '
        found = [
            node.name
            for node in tree.body
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and tasks in ast.unparse(node).replace("'", '"')
        ]
        assert [name for name in found if not name.startswith("_")] == list(names)
    assert list(ENTRY_POINTS) == list(EXERCISES)


def test_the_failing_line_is_taken_where_the_message_says_it() -> None:
    assert line("exercises/modules.py line 5 raised ValueError: modules.py line 2\n    pass") == 5
    assert line("the test took 2 s\n  it was at exercises/modules.py line 6: while True:") == 6
    assert line("exercises/modules.py line 999999 raised ValueError: x") == TEXT.count("\n") + 1
    assert line("exercises/modules.py line 0 raised ValueError: x") == 1
    assert line("exercises/budget.py line 2 raised ValueError: x") == 4


def test_else_the_definition_of_what_was_called() -> None:
    assert line("RMSNorm(4)([2, -1]) is wrong") == 4
    assert line("SwiGLU(4, 8)(x) is wrong", exercise="swiglu") == 8
    text = "# def ffn_params(\ndef swiglu_ffn_dim(d):\n  pass\n\nffn_params = lambda *a, **k: 0\nmodel_params=None\n"
    assert line("ffn_params(4, 8, gated=True) is 0", text, "budget") == 5
    assert line("model_params(cfg) is None", text, "budget") == 6
    assert line("attention_params is not there", text, "budget") == 2
    assert line("anything", "class RMSNorm: pass\n\nclass RMSNorm: pass\n") == 3
    assert line("anything", "import torch\nclass RMSNormalisation: pass\n") == 1


@pytest.mark.parametrize(
    "text", ["(" * 200_000, "\\" * 200_000, "class " * 60_000, "\f\r" * 1000, "", "def\tRMSNorm" * 9000]
)
def test_a_text_that_no_parser_survives_is_looked_at_all_the_same(text: str) -> None:
    assert 1 <= line("RMSNorm", text) <= text.count("\n") + 1


def test_a_file_that_is_not_there_has_no_line() -> None:
    assert locate(verdict("test_x", "budget"), SOURCES) is None


def test_paths_are_those_of_the_repository(tmp_path: Path) -> None:
    files = {"modules.py": TEXT, "exercises/budget.py": "x = 1\n"}
    inside = folder(tmp_path / "repository" / "week6", files)
    found = sources_of(inside, tmp_path / "repository")
    assert {name: each.path for name, each in found.items()} == {
        "modules.py": "week6/modules.py", "budget.py": "week6/exercises/budget.py",
    }  # fmt: skip
    assert found["modules.py"].text == TEXT
    (single,) = sources_of(inside / "modules.py", tmp_path / "repository").values()
    assert single.path == "week6/modules.py"
    packed = zipped(tmp_path / "anna.zip", files)
    elsewhere = [
        sources_of(packed, tmp_path),
        sources_of(inside, tmp_path / "other"),
        sources_of(tmp_path / "x", tmp_path),
    ]
    assert [each["modules.py"].path for each in elsewhere if each] == ["exercises/modules.py"] * 2
    odd = folder(tmp_path / "a\nb\x1b", {"modules.py": TEXT})
    assert sources_of(odd, tmp_path)["modules.py"].path == "a\\x0ab\\x1b/modules.py"


# ── Annotations and commands ─────────────────────────────────────────────────────────────────────────────────────────


def test_one_annotation_a_cause_and_line_named_ones_first() -> None:
    notes = annotate(result([
        verdict("test_rmsnorm_a", message="exercises/modules.py line 5 raised E: no", outcome=Outcome.EXCEPTION),
        verdict("test_rmsnorm_b", named=True),
        verdict("test_rmsnorm_c", named=True, outcome=Outcome.WRONG_GRADIENT),
        verdict("test_rmsnorm_d", outcome=Outcome.NOT_ATTEMPTED),
        verdict("test_swiglu_a", "swiglu", Outcome.PASSED),
        verdict("test_ffn_params", "budget"),
    ]), SOURCES)  # fmt: skip
    assert [(note.check, note.where.line, note.tests) for note in notes] == [
        ("rmsnorm-centering", 4, ("test_rmsnorm_b", "test_rmsnorm_c")),
        ("exception", 5, ("test_rmsnorm_a",)),
    ]
    assert notes[0].title == "rmsnorm-centering: subtracts the mean"
    assert notes[0].message.startswith("test_rmsnorm_b\nRMSNorm(4)")
    assert notes[0].message.endswith("Also fails: test_rmsnorm_c.")
    assert annotate(SubmissionResult("anna", (), 1.0, ungradable="no"), SOURCES) == []


def test_a_log_command_cannot_be_broken_out_of() -> None:
    odd = {"modules.py": SourceFile("a,line=1::b\r\n%/modules.py", TEXT)}
    for text in HOSTILE:
        lines = list(workflow_commands(annotate(result([verdict("test_x", message=text)]), odd)))
        assert len(lines) == 1
        assert len(lines[0].splitlines()) == 1
        assert re.match(
            r"::error file=a%2Cline=1%3A%3Ab%0D%0A%25/modules\.py,line=4,title=rmsnorm%3A wrong value::", lines[0]
        )
        assert lines[0].isprintable()
        assert not re.search(r"::(set-output|error file=x)|##\[", lines[0][8:])
    assert command("notice", "50% of\nit") == "::notice ::50%25 of%0Ait"


def test_a_title_is_cut_where_githubs_ends() -> None:
    note = Annotation("rmsnorm", Location("a.py", 1), "t" * 999, "message", "exception", ("test_a",))
    (line,) = workflow_commands([note])
    assert f"title={'t' * 250}::" in line


def test_a_log_says_where_there_is_more() -> None:
    many = [
        verdict(f"test_{number}", outcome=Outcome.EXCEPTION, message=f"exercises/modules.py line {number} raised E: x")
        for number in range(1, 10)
    ]
    assert len(list(workflow_commands(annotate(result(many), SOURCES)))) == 9
    text = {"modules.py": SourceFile("exercises/modules.py", "\n" * 99)}
    more = [verdict(f"t_{n}", outcome=Outcome.EXCEPTION, message=f"modules.py line {n} raised E") for n in range(1, 31)]
    lines = list(workflow_commands(annotate(result(more), text)))
    assert len(lines) == PER_STEP
    assert lines[-1] == "::error ::21 more are in the job summary"


# ── Check runs ───────────────────────────────────────────────────────────────────────────────────────────────────────


def conclusions(one: SubmissionResult) -> dict[str, str]:
    return {first["name"]: first["conclusion"] for first, *_ in check_runs(one, SOURCES, COMMIT)}


def test_a_check_for_each_exercise_and_one_for_the_whole() -> None:
    some = [
        verdict("a", named=True),
        verdict("b", "swiglu", Outcome.PASSED),
        verdict("c", "budget", Outcome.NOT_ATTEMPTED),
    ]
    one = result(some)
    assert conclusions(one) == {
        "nanolm": "neutral", "nanolm / rmsnorm": "failure", "nanolm / swiglu": "success", "nanolm / budget": "neutral",
    }  # fmt: skip
    assert conclusions(result([some[1]]))["nanolm"] == "success"
    rmsnorm = check_runs(one, SOURCES, COMMIT)[1][0]
    assert rmsnorm["head_sha"] == COMMIT
    assert rmsnorm["output"]["title"] == "0 of 2: rmsnorm-centering: subtracts the mean"
    (note,) = rmsnorm["output"]["annotations"]
    assert (note["path"], note["start_line"], note["annotation_level"]) == ("exercises/modules.py", 4, "failure")


def test_what_could_not_be_graded_is_neutral() -> None:
    one = SubmissionResult("anna", (), 100.0, ungradable="The zip is damaged.")
    assert conclusions(one) == {"nanolm": "neutral"}


def test_checks_keep_githubs_limits() -> None:
    text = {"modules.py": SourceFile("exercises/modules.py", "\n" * 500)}
    many = [
        verdict(f"t_{n}", outcome=Outcome.EXCEPTION, message=f"modules.py line {n} raised E: {'€' * 300_000}")
        for n in range(1, 2 * PER_REQUEST + 12)
    ]
    first, *updates = check_runs(result(many), text, COMMIT)[1]
    bodies: list[dict[str, Any]] = [first, *updates]
    assert [len(body["output"]["annotations"]) for body in bodies] == [50, 50, 11]
    lines = [note["start_line"] for body in bodies for note in body["output"]["annotations"]]
    assert lines == list(range(1, len(many) + 1))
    for body in bodies:
        assert body["output"]["title"]
        assert len(body["output"]["summary"]) <= 65535
        assert all(len(note["message"].encode()) <= MESSAGE_BYTES < 64 * 1024 for note in body["output"]["annotations"])
    assert set(updates[0]) == {"output"}
    json.dumps(check_runs(hostile(HOSTILE), SOURCES, COMMIT)).encode("ascii")


# ── JUnit and GitLab ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_junit_xml_is_read_back() -> None:
    some = [
        verdict("test_a", named=True),
        verdict("test_b", outcome=Outcome.PASSED),
        verdict("test_c", outcome=Outcome.NOT_ATTEMPTED),
        verdict("test_d", "swiglu", Outcome.INFRASTRUCTURE, "ours"),
    ]  # fmt: skip
    top = Xml.fromstring(junit_xml([result(some)], [SOURCES]))
    assert (top.tag, top.attrib) == (
        "testsuites", {"name": "nanolm", "tests": "4", "failures": "1", "errors": "1", "skipped": "1"},
    )  # fmt: skip
    assert [suite.get("name") for suite in top] == ["rmsnorm", "swiglu"]
    failed, passed, skipped = top[0].findall("testcase")
    assert (failed.get("classname"), failed.get("name")) == ("tests.test_modules", "test_a")
    assert (failed.get("file"), failed.get("line")) == ("exercises/modules.py", "4")
    assert failed.find("failure") is not None
    assert failed.find("failure").attrib == {"type": "wrong_value", "message": some[0].message}  # type: ignore[union-attr]
    assert list(passed) == []
    assert [child.tag for child in skipped] == ["skipped"]
    assert top[1][1].find("error") is not None
    properties = {each.get("name"): each.get("value") for each in top[0].iter("property")}
    assert properties == {"score": "2", "max_score": "6"}


def test_junit_says_what_could_not_be_graded() -> None:
    both = [SubmissionResult("anna", (), 100.0, ungradable="The zip is damaged."), result([verdict("test_a")])]
    top = Xml.fromstring(junit_xml(both))
    assert [suite.get("name") for suite in top] == ["anna: submission", "anna: rmsnorm"]
    assert top[0].find("testcase/error").text == "The zip is damaged."  # type: ignore[union-attr]


def test_hostile_text_is_text_in_xml_and_json() -> None:
    one = hostile([*HOSTILE, "]]>", "<failure>", "&lt;&amp;&#0;", "\x0b\x1f\ufffe\ud800"])
    xml = junit_xml([one], [SOURCES])
    xml.encode("utf-8")
    top = Xml.fromstring(xml)
    tags = {element.tag for element in top.iter()}
    assert tags == {"testsuites", "testsuite", "properties", "property", "testcase", "failure"}
    told = [element.text for element in top.iter("failure")]
    assert told[-3:-1] == ["<failure>", "&lt;&amp;&#0;"]
    json.dumps(code_quality([one], [SOURCES]), ensure_ascii=False).encode("utf-8")


def test_gitlabs_report_has_what_its_widget_reads() -> None:
    some = [
        verdict("test_a", named=True),
        verdict("test_b", message="exercises/modules.py line 2 raised E"),
        verdict("c", "budget"),
    ]
    report = code_quality([result(some), result(some)], [SOURCES, SOURCES])
    assert [set(issue) for issue in report] == [
        {"description", "check_name", "fingerprint", "severity", "location"}
    ] * 2
    assert len({issue["fingerprint"] for issue in report}) == 2
    assert all(re.fullmatch(r"[0-9a-f]{64}", issue["fingerprint"]) for issue in report)
    assert report[0]["location"] == {"path": "exercises/modules.py", "lines": {"begin": 4}}
    assert {issue["severity"] for issue in report} <= {"info", "minor", "major", "critical", "blocker"}
    moved = {"modules.py": SourceFile("exercises/modules.py", f"\n\n{TEXT}")}
    again = code_quality([result(some)], [moved])
    assert again[0]["location"]["lines"]["begin"] == 6
    assert again[0]["fingerprint"] == report[0]["fingerprint"]


def test_a_location_is_a_value() -> None:
    assert locate(verdict("test_x"), SOURCES) == Location("exercises/modules.py", 4)
