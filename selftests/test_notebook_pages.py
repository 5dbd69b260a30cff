"""What nbgrader's pages are made of: rebuilt notebooks, prose that does nothing, and the words about an exercise."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.coursework.standing import Standing
from grader.coursework.words import comment, table
from grader.notebooks.answers import match
from grader.notebooks.inert import inert
from grader.notebooks.parsing import parse
from grader.notebooks.rebuilding import rebuild
from grader.notebooks.released import released
from grader.submissions import Submission
from nanolm.protocol import Outcome
from nanolm.texts import catalogue
from nanolm.verdict import NamedMistake, Verdict
from selftests.making_notebooks import ROOT, STEM, STUBS, cell_of, code, right, solution

filters = pytest.importorskip("nbconvert.filters", reason="the notebooks' tools are not installed")

COURSE = released(ROOT)
FIRST = STEM["rmsnorm"]
PAYLOADS = (
    "<script>x()</script>", "</pre><script>x()</script>", "<img src=x onerror=x()>", "[a](javascript:x())",
    "![a](http://example.org/pixel)", "[a]: javascript:x()\n\n[a]", "<javascript:x()>", "$\\href{javascript:x()}{y}$",
    "$$\\require{html}$$", "&lt;script&gt;", "&#60;script&#62;", "```\n</pre>", "# title", "\n\n\n<b>", "    code\n<b>",
    "<!--", "<![CDATA[", "<style>*{}</style>", "a|b\n-|-\nc|d", "http://example.org", "x@example.org", "~~~", "\\<b>",
)  # fmt: skip
SHOWN = re.compile(r'<pre class="handed-in" style="white-space: pre-wrap">\n?([^<>]*)</pre>\s*')


def shown(text: str) -> str:
    """The text inside the only element of the rendered page; fails where there is another."""
    rendered = filters.markdown2html(inert(text))
    found = SHOWN.fullmatch(rendered)
    assert found is not None, rendered
    return html.unescape(found[1])


@pytest.mark.parametrize("payload", PAYLOADS)
def test_prose_is_shown_as_it_was_typed_and_does_nothing(payload: str) -> None:
    assert shown(payload).split() == payload.split()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["<", ">", "&", "$", "$$", "`", "```", "\n", "\n\n", "    ", "](", "a", *PAYLOADS])))
def test_no_mixture_gets_out(parts: list[str]) -> None:
    text = "".join(parts)
    assert shown(text).split() == text.split()


def rebuilt(notebook: dict[str, object]) -> dict[str, object]:
    cells, _ = parse(json.dumps(notebook).encode())
    return rebuild(COURSE.notebooks[FIRST], match(f"{FIRST}.ipynb", cells, COURSE)[0])


def test_a_rebuilt_notebook_is_the_released_one_with_the_answer() -> None:
    made = rebuilt(right("rmsnorm"))
    expected = json.loads(json.dumps(STUBS[FIRST]))
    for cell in expected["cells"]:
        cell["source"] = "".join(cell["source"])
    cell_of(expected, "rmsnorm-answer")["source"] = solution("rmsnorm")
    assert made == expected
    assert rebuild(COURSE.notebooks[FIRST], None)["cells"][0]["source"] == expected["cells"][0]["source"]


def test_outputs_metadata_locked_cells_and_points_are_the_releases() -> None:
    notebook = right("rmsnorm")
    check = cell_of(notebook, "rmsnorm-check")
    check |= {"source": "14", "outputs": [{"output_type": "stream", "name": "stdout", "text": "x"}]}
    check["metadata"]["nbgrader"]["points"] = 99
    check["metadata"]["tags"] = ["skip-execution"]
    cell_of(notebook, "rmsnorm-answer")["metadata"]["evil"] = "<script>"
    notebook["metadata"] = {"widgets": {}}
    assert rebuilt(notebook) == rebuilt(right("rmsnorm"))


def test_own_cells_stay_where_they_were_and_only_code_stays_active() -> None:
    notebook = right("rmsnorm")
    position = notebook["cells"].index(cell_of(notebook, "rmsnorm-answer"))
    notebook["cells"][position:position] = [code("helper = 1"), {"cell_type": "raw", "source": "<b>", "metadata": {}}]
    made = rebuilt(notebook)
    sources = [cell["source"] for cell in made["cells"]]  # type: ignore[attr-defined]
    where = sources.index(solution("rmsnorm"))
    assert sources[where - 2 : where] == ["helper = 1", inert("<b>")]
    assert made["cells"][where - 1]["cell_type"] == "markdown"  # type: ignore[index]


def test_a_reply_to_the_question_is_inert() -> None:
    notebook = right("rmsnorm")
    cell_of(notebook, "rmsnorm-question")["source"] = "<script>"
    assert cell_of(rebuilt(notebook), "rmsnorm-question")["source"] == inert("<script>")  # type: ignore[arg-type]


MESSAGE = "got <script>x()</script>\x1b[31m"
FAILED = Verdict("tests/test_modules.py::test_rmsnorm_x", "rmsnorm", Outcome.WRONG_VALUE, 0.0, 14.0, MESSAGE,
                 (NamedMistake("rmsnorm-centering", "output", "equal"),), ("note <b>",))  # fmt: skip
SUBMISSION = Submission("anna", ROOT, {"modules.py": "x"}, {}, ("file <i>.ipynb",), None)
STANDING = Standing("anna", SUBMISSION, {"rmsnorm": (FAILED,)}, "full")


def test_the_comment_has_our_words_and_none_of_the_students() -> None:
    words = comment(STANDING, "rmsnorm")
    assert "0 of 14 points" in words
    assert "rmsnorm-centering, subtracts the mean" in words
    assert not set("<>") & set(words)


def test_no_title_or_question_of_the_catalogue_could_be_markup() -> None:
    for entry in catalogue()["mistakes"].values():
        assert not re.search(r"<|\]\(|&\w|\$", entry["title"] + entry["question"] + entry["section"])


def test_the_table_has_message_and_notes_as_plain_text() -> None:
    words = table(STANDING, "rmsnorm")
    assert "got <script>x()</script>\\x1b[31m" in words
    assert "note: note <b>" in words
    assert "note: file <i>.ipynb" in words


def test_without_a_verdict_there_is_no_score_and_a_reason() -> None:
    assert STANDING.score("swiglu") is None
    assert "Grading did not end with a verdict" in table(STANDING, "swiglu")
    assert "a person has to look" in comment(STANDING, "swiglu")
    assert "swiglu" in STANDING.missing
    assert "There is no verdict on " in str(STANDING.result.ungradable)
    unread = replace(STANDING, submission=replace(SUBMISSION, problems={"modules.py": "it is cut"}))
    assert unread.score("rmsnorm") is None
    assert "no score. it is cut" in table(unread, "rmsnorm")
