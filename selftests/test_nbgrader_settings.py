"""What nbgrader makes of grader_config.py: which assignments it sees, and whether its exchange can be used."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

apps = pytest.importorskip("nbgrader.apps", reason="the notebooks' tools are not installed")

from nbgrader.coursedir import CourseDirectory  # noqa: E402
from nbgrader.utils import check_directory  # noqa: E402
from traitlets.config.loader import PyFileConfigLoader  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent


def test_formgrader_lists_the_assignment_and_nothing_else(tmp_path: Path) -> None:
    """Every folder in source/ is an assignment to nbgrader, with a Generate button of its own."""
    shutil.copytree(ROOT / "source", tmp_path / "source")
    shutil.copyfile(ROOT / "grader_config.py", tmp_path / "grader_config.py")
    config = PyFileConfigLoader("grader_config.py", path=str(tmp_path)).load_config()
    api = apps.NbGraderAPI(CourseDirectory(config=config), config=config)
    assert api.get_source_assignments() == {"module06"}
    (tmp_path / "source" / "texts").mkdir()
    assert api.get_source_assignments() == {"module06", "texts"}


def test_the_exchange_is_there_before_a_page_asks_for_it(tmp_path: Path) -> None:
    """Formgrader tells an instructor of a missing exchange on every page; release and collect want to write to it."""
    shutil.copyfile(ROOT / "grader_config.py", tmp_path / "grader_config.py")
    config = PyFileConfigLoader("grader_config.py", path=str(tmp_path)).load_config()
    assert Path(config.Exchange.root).is_relative_to(tmp_path / "grading")
    assert check_directory(config.Exchange.root, write=True, execute=True)
