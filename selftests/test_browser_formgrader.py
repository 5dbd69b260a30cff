"""An instructor's evening in a browser: JupyterLab, formgrader, its Autograde button, a person's points, the feedback.

NANOLM_SCREENSHOTS=docs/screenshots keeps pictures for the documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from selftests.browser.chromium import chromium, program
from selftests.browser.jupyter import Lab, jupyterlab
from selftests.browser.small_class import AWAITING, FIRST, LATE, LATE_POINTS, MAXIMUM, POINTS, Course, graded_class
from selftests.browser.watching import TALL, WIDTH, Window, click, payload, picture, see, window
from selftests.test_course_loop import SECRET

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("nbgrader", reason="LOUD: the notebooks' tools are not installed: formgrader was not tried")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def course(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Made only where there is a browser to look at it."""
    return graded_class(tmp_path_factory.mktemp("formgrader"))


@pytest.fixture(scope="module")
def lab(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with jupyterlab(course.folder, tmp_path_factory.mktemp("lab") / "home", variables=SECRET) as running:
        yield running


@pytest.fixture
def tab(browser: Browser, lab: Lab) -> Iterator[Window]:
    """A fresh window of a person who has signed in."""
    with window(browser) as opened:
        lab.sign_in(opened.context)
        yield opened


def submissions(tab: Window, lab: Lab) -> Page:
    page = tab.open(lab.at("/formgrader/manage_submissions/module06"))
    see(page, f"#main-table tr:has(td.student-id:text-is('{LATE}'))")
    return page


def row(page: Page, student: str) -> str:
    """What a student's row says once it is there."""
    found = see(page, f"#main-table tr:has(td.student-id:text-is('{student}'))")
    return " ".join(found.inner_text().split())


def graded_page(tab: Window, lab: Lab, student: str) -> Page:
    """A student's first notebook in formgrader, the way an instructor gets there."""
    page = tab.open(lab.at(f"/formgrader/manage_students/{student}/module06"))
    see(page, f"#main-table a:text-is('{FIRST}')").click()
    see(page, "#rmsnorm-check")
    # Without a network nbgrader's page has no MathJax and ends its set-up there, after points and comments.
    page.wait_for_function("formgrader.grades?.loaded && formgrader.comments?.loaded")
    return page


def test_an_alarm_is_heard(browser: Browser) -> None:
    """The measure itself: every way of a payload is noticed."""
    with window(browser) as tab:
        page = tab.open("about:blank")
        page.set_content(payload("here"))
        page.wait_for_function("document.images[0].complete")
        heard = tab.quiet(page)
        assert heard.count("called: here") == 5, heard
        assert "asked: http://canary.invalid/here.png" in heard
        page.evaluate("alert('once')")
        assert "dialog: once" in heard


def test_what_cannot_be_seen_fails_with_the_pages_text(browser: Browser) -> None:
    with window(browser) as tab:
        tab.context.set_default_timeout(300)
        page = tab.open("about:blank")
        page.set_content("<p>all there is</p><button style='visibility: hidden'>no</button>")
        with pytest.raises(AssertionError, match=r"(?s)'#points' cannot be seen in.*all there is"):
            see(page, "#points")
        with pytest.raises(AssertionError, match=r"(?s)'button' cannot be seen in.*all there is"):
            click(page, "button")


def test_without_a_browser_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="LOUD: no Chromium"):
        program(str(tmp_path / "none"))
    own = tmp_path / "chrome"
    own.touch()
    assert program(str(own)) == str(own)
    (tmp_path / "chromium").touch(0o755)
    assert program(str(own)) == str(tmp_path / "chromium")


def test_jupyterlabs_menu_opens_formgrader_with_the_one_assignment(tab: Window, lab: Lab) -> None:
    page = tab.open(lab.at("/lab"))
    see(page, ".lm-MenuBar-itemLabel:text-is('Nbgrader')").click()
    see(page, ".lm-Menu-itemLabel:text-is('Formgrader')").click()
    see(page, "iframe")
    frame = page.frame_locator("iframe")
    link = see(page, "#main-table .name a:text-is('module06')", frame)
    assert frame.locator("#main-table .name").all_inner_texts() == ["module06"]
    assert frame.locator("#warning-exchange").count() == 0
    assert frame.locator(".num-submissions").inner_text() == str(len(POINTS) + 1)
    assert link.is_visible()
    see(page, ".jp-DirListing-item")
    picture(page, "jupyterlab-formgrader")
    assert tab.quiet(page) == []


def test_formgrader_lists_everybody_with_our_points(tab: Window, lab: Lab) -> None:
    page = submissions(tab, lab)
    for student, points in POINTS.items():
        said = row(page, student)
        assert f" {points or 0:g} / {MAXIMUM} " in f"{said} ", said
        assert ("needs manual grading" in said) == (student in AWAITING), said
    assert "needs autograding" in row(page, LATE)
    assert "None, None" not in page.locator("#main-table").inner_text()
    assert page.locator(f"tr:has(td.student-id:text-is('{LATE}')) .student-name").inner_text() == "Swapped,"
    picture(page, "formgrader-submissions", height=700)
    assert tab.quiet(page) == []


def test_a_submissions_page_has_points_table_cause_and_question(tab: Window, lab: Lab) -> None:
    page = graded_page(tab, lab, "centering")
    assert page.locator("#rmsnorm-check").input_value() == ""
    assert page.locator("#rmsnorm-check").get_attribute("placeholder") == "10.5"
    comment = page.locator("#rmsnorm-answer-comment").get_attribute("placeholder") or ""
    assert "10.5 of 14 points." in comment
    assert "Likeliest cause: rmsnorm-centering, subtracts the mean. Ask yourself: what does" in comment
    table = see(page, "pre:has-text('rmsnorm: 10.5 of 14 points')").inner_text()
    head = table.partition("\n\n")[0].splitlines()
    assert max(map(len, head)) < 130, "a line does not fit into the page"
    assert "Likeliest cause: rmsnorm-centering (subtracts the mean)." in table
    assert "Which step of LayerNorm did RMSNorm drop?" in table
    assert re.search(r"^test_rmsnorm_does_not_center +wrong value +0 of ", table, re.MULTILINE), table
    page.set_viewport_size({"width": WIDTH, "height": TALL})
    page.locator("#rmsnorm-check").scroll_into_view_if_needed()
    picture(page, "formgrader-submission", height=1250)
    assert tab.quiet(page) == []


def press_autograde(page: Page, student: str) -> None:
    see(page, f"#main-table tr:has(td.student-id:text-is('{student}')) .autograde a").click()
    said = see(page, "#success-modal .modal-body, #error-modal .modal-body").inner_text()
    assert f"Successfully autograded 'module06' for student '{student}'." in said, said
    page.locator("#success-modal .modal-footer button").click()
    page.wait_for_selector(".modal", state="detached")


def test_autograde_grades_who_was_only_collected(tab: Window, lab: Lab, course: Course) -> None:
    page = submissions(tab, lab)
    press_autograde(page, LATE)
    assert f"{LATE_POINTS:g} / {MAXIMUM}" in row(page, LATE)
    assert ("swiglu-check", LATE_POINTS, None) in course.stored(LATE)
    assert lab.kernels_started == 0
    assert tab.quiet(page) == []


def test_autograde_again_changes_no_points_and_keeps_a_persons(tab: Window, lab: Lab, course: Course) -> None:
    page = graded_page(tab, lab, "reference")
    with page.expect_response(lambda answer: answer.request.method == "PUT") as saved:
        page.locator("#rmsnorm-question").fill("1.5")
        page.locator("#rmsnorm-question").press("Tab")
    assert saved.value.ok
    before, written = course.stored("reference"), course.page("reference", "autograded", ".ipynb").stat().st_mtime_ns
    assert ("rmsnorm-check", 14.0, None) in before
    assert ("rmsnorm-question", 0.0, 1.5) in before
    page = submissions(tab, lab)
    assert f"101.5 / {MAXIMUM}" in row(page, "reference")
    press_autograde(page, "reference")
    assert f"101.5 / {MAXIMUM}" in row(page, "reference")
    assert course.page("reference", "autograded", ".ipynb").stat().st_mtime_ns > written
    assert course.stored("reference") == before
    assert lab.kernels_started == 0
    assert tab.quiet(page) == []


def test_the_feedback_says_the_same(tab: Window, lab: Lab, course: Course) -> None:
    page = tab.open(course.page("centering", "feedback", ".html").as_uri())
    said = page.locator("body").inner_text()
    assert "10.5 of 14 points" in said
    assert "Which step of LayerNorm did RMSNorm drop?" in said
    assert "(Score: 10.5 / 14.0)" in said
    picture(page, "feedback", height=200)
    assert tab.quiet(page) == []


def test_nothing_a_student_wrote_runs_in_any_page(tab: Window, lab: Lab, course: Course) -> None:
    page = submissions(tab, lab)
    press_autograde(page, "hostile")
    see(page, "#main-table td.student-name:has-text('<script>')")
    for place in ("manage_students", "manage_students/hostile", "gradebook/module06", f"gradebook/module06/{FIRST}"):
        page = tab.open(lab.at(f"/formgrader/{place}"))
        see(page, "#main-table a")
        assert tab.quiet(page) == [], place
    page = graded_page(tab, lab, "hostile")
    assert "canary.invalid/exception.png" in see(page, "pre:has-text('rmsnorm: 0 of 14 points')").inner_text()
    for place in ("markdown", "raw", "code", "reply"):
        assert f"canary.invalid/{place}.png" in page.locator("body").inner_text(), place
    assert tab.quiet(page) == []
    page = tab.open(course.page("hostile", "feedback", ".html").as_uri())
    assert "canary.invalid/exception.png" in page.locator("body").inner_text()
    assert tab.quiet(page) == []
    assert lab.kernels_started == 0


def test_without_our_reader_the_same_notebook_does_run(tab: Window, lab: Lab) -> None:
    """The control: formgrader on the file as it was handed in."""
    page = graded_page(tab, lab, "unguarded")
    heard = tab.quiet(page)
    assert {"called: markdown", "called: output", "called: reply"} <= set(heard), heard
