"""A student's evening in a browser: a released notebook in JupyterLab, its check cell on the stub, a mistake's name.

On a student's copy with an environment of its own, as its README says. What is saved is graded to the same points.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.release import write_students_copy
from grader.smoke import Student
from selftests.browser.chromium import chromium
from selftests.browser.jupyter import Lab, jupyterlab
from selftests.browser.watching import TALL, WIDTH, Window, click, picture, see, window
from selftests.making_notebooks import ROOT, STEM, banked, cell_of, load, plain, text
from selftests.running_grade import nanolm, read_grades

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("jupyterlab", reason="LOUD: JupyterLab is not installed: no notebook was opened in a browser")

NOTEBOOK = f"{STEM['rmsnorm']}.ipynb"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def student(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Student:
    """The copy, installed with the packages that are here already; only where there is a browser."""
    folder = tmp_path_factory.mktemp("student")
    write_students_copy(ROOT, folder / "copy")
    machine = Student(folder / "copy", folder / "environment")
    machine.install(lambda said: None, reuse_packages=True)
    return machine


@pytest.fixture(scope="module")
def lab(student: Student, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp("lab") / "home"
    python = student.scripts / "python"
    with jupyterlab(student.folder, home, "release/module06", python=python, variables={}) as running:
        yield running


@pytest.fixture
def tab(browser: Browser, lab: Lab) -> Iterator[Window]:
    with window(browser) as opened:
        lab.sign_in(opened.context)
        yield opened


ANSWER, CHECK = (f".jp-CodeCell:has(.jp-InputArea :text('{words}'))" for words in ("class RMSNorm(", "check("))


def open_notebook(tab: Window, lab: Lab) -> Page:
    """The notebook, once its kernel listens: a cell that is run before brings up a dialog."""
    page = tab.open(lab.at(f"/lab/tree/{NOTEBOOK}"))
    see(page, "#jp-main-statusbar :text('| Idle')")
    return page


def run(page: Page, cell: str) -> None:
    click(page, f"{cell} .cm-content")
    page.keyboard.press("Control+Enter")


def test_from_the_stub_to_a_mistakes_name_and_to_its_grade(tab: Window, lab: Lab, student: Student) -> None:
    page = open_notebook(tab, lab)
    run(page, ".jp-CodeCell:has(.jp-InputArea :text('start()'))")
    run(page, ANSWER)
    run(page, CHECK)
    printed = f"{CHECK} .jp-OutputArea-output"
    see(page, f"{printed}:has-text('Still to write: rmsnorm: keep eps and create gamma, one gain a feature')")
    see(page, f"{printed} pre:text-is('0.0')")

    answer = plain(banked("rejected/rmsnorm/centering")[1])
    click(page, f"{ANSWER} .cm-content")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(answer)
    run(page, ANSWER)
    run(page, CHECK)
    said = see(page, f"{printed}:has-text('Mistake: rmsnorm-centering (subtracts the mean)')").inner_text()
    see(page, f"{printed} pre:text-is('10.5')")
    assert "Which step of LayerNorm did RMSNorm drop?" in said
    assert lab.kernels_started == 1
    page.set_viewport_size({"width": WIDTH, "height": TALL})
    see(page, f"{printed} pre:text-is('10.5')").scroll_into_view_if_needed()
    picture(page, "notebook-check", left=290, top=95, width=915, height=1200)

    page.keyboard.press("Control+s")
    page.wait_for_function("!document.querySelector('.jp-mod-dirty')")
    path = student.folder / "release" / "module06" / NOTEBOOK
    assert text(cell_of(load(path), "rmsnorm-answer")["source"]).split() == answer.split()
    assert graded(path, student.folder) == 10.5


def graded(notebook: Path, folder: Path) -> float:
    """What the instructor's command gives for the file that was saved."""
    ran = nanolm("grade", notebook, "--exercise", "rmsnorm", "--isolation", "best", "--json", folder / "grades.json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return read_grades(folder / "grades.json").submissions[0].score


def test_the_check_cell_cannot_be_edited(tab: Window, lab: Lab) -> None:
    page = open_notebook(tab, lab)
    locked = see(page, f"{CHECK} .cm-content")
    before = locked.inner_text()
    click(page, f"{CHECK} .cm-content")
    page.keyboard.insert_text("x")
    assert locked.inner_text() == before
    click(page, f"{ANSWER} .cm-content")
    page.keyboard.insert_text("# a change of mine")
    see(page, f"{ANSWER}:has-text('# a change of mine')")
