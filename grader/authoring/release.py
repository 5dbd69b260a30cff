"""The students' notebooks, `release/<assignment>/*.ipynb`: nbgrader's own generate_assignment on the instructors'."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.authoring.answers import AuthoringError
from grader.authoring.source import ASSIGNMENT

CONFIG = "grader_config.py"


def release_notebooks(root: Path, sources: dict[str, str]) -> dict[str, str]:
    """File name and text of every students' notebook.

    nbgrader runs with the course's configuration in a scratch folder, with a gradebook of its own: the real one learns
    of an assignment when an instructor generates it there.
    """
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config.loader import PyFileConfigLoader

    with tempfile.TemporaryDirectory(prefix="nanolm-notebooks-") as scratch:
        folder = Path(scratch).resolve()
        shutil.copyfile(root / CONFIG, folder / CONFIG)
        (folder / "source" / ASSIGNMENT).mkdir(parents=True)
        for name, text in sources.items():
            (folder / "source" / ASSIGNMENT / name).write_text(text, encoding="utf-8", newline="\n")
        config = PyFileConfigLoader(CONFIG, path=str(folder)).load_config()
        api = NbGraderAPI(CourseDirectory(config=config), config=config)
        api.log.setLevel(logging.ERROR)
        with _own_programs_first():
            done = api.generate_assignment(ASSIGNMENT)
        if not done["success"]:
            raise AuthoringError(f"nbgrader could not make the release:\n{done.get('log') or done.get('error')}")
        made = sorted((folder / "release" / ASSIGNMENT).glob("*.ipynb"))
        return {path.name: path.read_text(encoding="utf-8") for path in made}


@contextmanager
def _own_programs_first() -> Iterator[None]:
    """nbgrader starts `alembic` by its bare name, which is on no PATH where this environment is not activated."""
    path = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), path])
    try:
        yield
    finally:
        os.environ["PATH"] = path
