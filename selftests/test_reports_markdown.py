"""Summary and comment as GitHub's own renderer reads them: the grade is there, and no student text does anything."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from grader.reports import markdown
from grader.results import SubmissionResult
from nanolm.protocol import Outcome
from nanolm.texts import catalogue
from selftests.github_payloads import HOSTILE
from selftests.making_results import hostile, result, verdict

COMMIT = "ab12" * 10
OURS = {
    "h2", "p", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "pre", "code",
    "sub", "em",
}  # fmt: skip
"""The elements of our own text. Nothing among them loads, leads anywhere or runs."""


class Page(HTMLParser):
    """What a rendered page holds: elements with their attributes, the text in code blocks, all other text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.code, self.prose, self._open, self._folds = "", "", 0, 0
        # As GitHub does it: tables and bare links are found, raw HTML is let through to the sanitizer behind it.
        self.feed(cmarkgfm.github_flavored_markdown_to_html(source, Options.CMARK_OPT_UNSAFE))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {f"{tag} {name}" for name, _ in attrs}
        self._open += tag == "code"
        self._folds += tag == "details"

    def handle_endtag(self, tag: str) -> None:
        self._open -= tag == "code"
        self._folds -= tag == "details"
        assert self._folds >= 0, "a section is closed that was never opened"

    def handle_data(self, data: str) -> None:
        if self._open:
            self.code += data
        else:
            self.prose += data


def check_inert(source: str) -> Page:
    page = Page(source)
    assert set(page.tags) <= OURS
    # GitHub's renderer itself writes these two.
    assert page.attributes <= {"pre lang", "th align", "td align", "code class"}
    assert not re.search(r"@\w|https?:|www\.|#\d|\$\\|:tada:", page.prose), page.prose
    return page


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_student_text_stays_in_a_code_block(text: str) -> None:
    for one in (hostile([text]), SubmissionResult(text, (), 100.0, ungradable=text)):
        for source in (markdown.comment(one, COMMIT), markdown.summary([one]), markdown.summary([one, one])):
            page = check_inert(source)
            assert page.code.strip()
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e\u2028\ud800-\udfff]", source)


def test_the_check_sees_what_does_something() -> None:
    """The same question, asked of texts that were not put into code blocks."""
    for text in ("![x](https://b.example/a.png)", "[a](https://b.example)", "https://b.example", "<a href=x>y</a>",
                 "@everyone", "fixes #2", "</details>\n\n<details>\n", "`a`\n\n<img src=x>"):  # fmt: skip
        with pytest.raises(AssertionError):
            check_inert(f"## 1 of 2 points\n\n{text}\n")


def test_a_forged_marker_or_command_is_not_the_first_thing_in_a_line() -> None:
    source = markdown.comment(hostile(HOSTILE), COMMIT)
    assert source.startswith(f"{markdown.MARKER}\n")
    assert "::set-output" not in source
    assert "##[set-env" not in source


def test_everything_fits_and_says_so_where_it_does_not() -> None:
    huge = hostile([f"{number} {'€' * 200_000}" for number in range(120)])
    comment = markdown.comment(huge, COMMIT)
    assert len(comment.encode()) <= markdown.COMMENT_BYTES < 65536
    assert "More did not fit here" in comment
    check_inert(comment)
    summary = markdown.summary([huge])
    assert len(summary.encode()) <= markdown.SUMMARY_BYTES < 1024 * 1024
    assert "More did not fit here" in summary
    parts = ["€" * 30, "x" * 500, *("y" * 40 for _ in range(50))]
    cut = markdown.fitted(parts, 900)
    assert 800 < len(cut.encode()) <= 900
    assert cut.startswith(parts[0])
    assert cut.endswith(markdown.LEFT_OUT)
    assert markdown.fitted(parts, 9000) == "\n".join(parts)
    small = markdown.summary([hostile(["x"])])
    assert "More did not fit" not in small


def test_the_scoreboard_names_the_cause_first_and_folds_the_details() -> None:
    one = result([
        verdict("test_rmsnorm_a", named=True),
        verdict("test_rmsnorm_b", named=True, outcome=Outcome.WRONG_GRADIENT),
        verdict("test_swiglu_a", "swiglu", Outcome.PASSED),
        verdict("test_ffn_params", "budget", Outcome.NOT_ATTEMPTED),
        verdict("test_soft_cap", "qk_norm", Outcome.TIMEOUT, "not done after 2 s"),
    ])  # fmt: skip
    source = markdown.comment(one, COMMIT)
    page = check_inert(source)
    rows = [line for line in source.splitlines() if line.startswith("| ")]
    assert "## 2 of 10 points" in source
    assert rows[1:] == [
        "| rmsnorm | 0 / 4 | ❌ failed | rmsnorm-centering\\: subtracts the mean |",
        "| swiglu | 2 / 2 | ✅ passed |  |",
        "| budget | 0 / 2 | ⬜ not attempted |  |",
        "| qk_norm | 0 / 2 | ❌ failed | timeout |",
    ]
    first, table, details = (source.index(words) for words in ("**rmsnorm-centering**", "| exercise", "<details>"))
    assert first < table < details
    assert "explains 2 of 2 failed tests" in source
    assert page.tags.count("details") == 2
    # One message a cause; the other tests that it fails are named below it.
    assert page.code.count("RMSNorm(4)") == 1
    assert "Also fails: test_rmsnorm_b." in page.prose
    assert "test_ffn_params" not in page.prose


def test_no_grade_is_no_zero() -> None:
    source = markdown.comment(SubmissionResult("anna", (), 100.0, ungradable="The zip is damaged."), COMMIT)
    page = check_inert(source)
    assert "No grade" in page.prose
    assert "0 of 100" not in source
    assert "The zip is damaged." in page.code


def test_the_catalogues_own_words_come_out_as_they_are() -> None:
    words = [text for each in catalogue()["mistakes"].values() for text in (each["title"], each["question"])]
    assert len(words) > 200
    for text in [*words, r"a\b `c` *d* _e_ ~~f~~ <b> | [g](h) # i $j$ https://k.example @l ![m](n) &amp;"]:
        page = Page(f"- {markdown.plain(text)}\n")
        assert page.tags == ["ul", "li"], text
        assert page.prose.strip() == text
        assert not page.code


def test_no_fence_is_shorter_than_what_it_holds() -> None:
    for text in ("`" * 40, "~~~\n```\n`````", "```text\nx\n```", "    ```", "\t````"):
        page = Page(markdown.fenced(text))
        assert (page.tags, page.prose.strip()) == (["pre", "code"], "")
        assert page.code.strip() == text.replace("\t", "\\x09").strip()
