"""The students' copy: what is in it, what never is, and that it works on a student's machine."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader import release
from grader.leaks import ReleaseError, Secrets
from grader.release import first_run, students_lock
from grader.release import write_students_copy as write
from grader.smoke import Student, outcome_counts, smoke_test
from grader.stubs import Region, split
from nanolm.cli import STUDENTS, SUMMARIES
from nanolm.course import EXERCISES

ROOT = Path(__file__).resolve().parent.parent
COURSE = ("exercises", "solutions", "tests", "nanolm", "mistakes", "docs", "source")
PAGES = ("docs/notation.md", "docs/reading-a-block.md")
PROJECT = ("conftest.py", "LICENSE", "pyproject.toml", "requirements.lock")
ALONE = {"README.md", "pyproject.toml", "requirements.lock", ".gitignore", ".github/workflows/check.yml"}


def small_course(root: Path) -> Path:
    """A course without git, for planting things in."""
    root.mkdir()
    for name in COURSE:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for name in PROJECT:
        shutil.copyfile(ROOT / name, root / name)
    return root


@pytest.fixture
def course(tmp_path: Path) -> Path:
    return small_course(tmp_path / "course")


def secret_line(course: Path) -> str:
    """The longest line of a solution that is no block header."""
    parts = split((course / "solutions" / "modules.py").read_text(encoding="utf-8"), "modules.py")
    lines = [line.strip() for part in parts if isinstance(part, Region) for line in part.lines]
    return max((line for line in lines if not line.endswith(":")), key=len)


def body_of(bank_file: Path) -> str:
    """A bank file's code without docstring and imports."""
    text = bank_file.read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not docstring and not isinstance(node, ast.Import | ast.ImportFrom):
            first = min(part.lineno for part in (node, *getattr(node, "decorator_list", ())))
            return "".join(text.splitlines(keepends=True)[first - 1 :])
    raise AssertionError(f"{bank_file} holds no code")


def forward_of(bank_file: Path) -> str:
    """The last method of a bank file, which shares no line with the solution."""
    text = bank_file.read_text(encoding="utf-8")
    return text[text.rindex("    def ") :]


def notebook(source: list[str]) -> str:
    cell: dict[str, object] = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": source,
    }
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


# ── What is written ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_this_very_repository_can_be_released(tmp_path: Path) -> None:
    names = write(ROOT, tmp_path / "copy")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    folders = ("exercises/", "tests/", "nanolm/", "docs/exercises/", "release/")
    wanted = {name for name in tracked if name.startswith(folders)}
    assert set(names) == wanted | {"conftest.py", "LICENSE", *PAGES} | ALONE
    for name in set(names) - ALONE:
        assert (tmp_path / "copy" / name).read_bytes() == (ROOT / name).read_bytes(), name


def test_the_copy_holds_exactly_what_was_named(course: Path, tmp_path: Path) -> None:
    (course / "release" / "module06").mkdir(parents=True)
    (course / "release" / "module06" / "rmsnorm.ipynb").write_text(notebook(["x = 1\n", "print(x)"]))
    (course / "tests" / "__pycache__").mkdir()
    (course / "tests" / "__pycache__" / "oracles.cpython-311.pyc").write_bytes(b"\0\1")
    target = tmp_path / "copy"
    names = write(course, target)
    standing = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
    assert names == standing
    assert {name.split("/")[0] for name in names if "/" in name} == {
        "exercises",
        "tests",
        "nanolm",
        "docs",
        "release",
        ".github",
    }
    pages = {name for name in names if name.startswith("docs/")}
    assert pages == {*PAGES, *(f"docs/exercises/{path.name}" for path in (ROOT / "docs" / "exercises").iterdir())}
    answers = [path.read_bytes() for path in (course / "source").rglob("*.md")]
    assert answers
    assert not any((target / name).read_bytes() in answers for name in names)
    assert "nanolm/fingerprints.safetensors" in names
    assert "exercises/STUBS.sha256" in names
    assert not any("__pycache__" in name for name in names)
    assert "release/" in (target / "README.md").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "course"], "nothing else is left beside it"


def test_where_there_is_git_only_its_files_go_out(course: Path, tmp_path: Path) -> None:
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=course, check=True)
    (course / "exercises" / "my_attempt.py").write_text("x = 1\n")
    (course / "tests" / "junk.zip").write_bytes(b"\xff\xfe")
    names = write(course, tmp_path / "copy")
    assert not {"exercises/my_attempt.py", "tests/junk.zip"} & set(names)


def test_project_files_are_the_students(course: Path, tmp_path: Path) -> None:
    write(course, tmp_path / "copy")
    ours = tomllib.loads((course / "pyproject.toml").read_text(encoding="utf-8"))
    theirs = tomllib.loads((tmp_path / "copy" / "pyproject.toml").read_text(encoding="utf-8"))
    project = theirs["project"]
    assert project["name"] == "nanolm-exercises-student"
    assert project["scripts"] == {"nanolm": "nanolm.cli:main"}
    assert set(project["entry-points"]["nanolm.commands"]) == set(STUDENTS)
    assert theirs["tool"]["pytest"] == ours["tool"]["pytest"]
    assert theirs["tool"]["setuptools"]["packages"]["find"]["include"] == ["nanolm", "nanolm.*"]
    without = {release.package_name(line) for line in {*ours["project"]["dependencies"]} - {*project["dependencies"]}}
    assert without == set(release.GRADERS_ONLY)
    for path in [*(tmp_path / "copy" / "nanolm").rglob("*.py"), *(tmp_path / "copy" / "tests").rglob("*.py")]:
        for name in without:
            assert not re.search(rf"(import|from) {name}\b", path.read_text(encoding="utf-8")), path
    lock = (tmp_path / "copy" / "requirements.lock").read_text(encoding="utf-8")
    assert "\ntorch==" in lock
    assert not re.search(r"^(ruff|mypy|msgspec)\b", lock, re.MULTILINE)
    workflow = (tmp_path / "copy" / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
    assert "permissions:\n  contents: read\n" in workflow
    assert 'python-version: "3.11"' in workflow
    for name in ALONE:
        text = (tmp_path / "copy" / name).read_text(encoding="utf-8")
        assert not re.search(r"@[A-Z_]+@", text), f"{name} has an unfilled place"


def test_templates_travel_in_the_wheel() -> None:
    package_data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"][
        "package-data"
    ]
    grader = ROOT / "grader"
    matched = {path for pattern in package_data["grader"] for path in grader.glob(pattern) if path.is_file()}
    for template in release.PROJECT_FILES.values():
        assert grader / "students" / template in matched
        assert not Path(template).name.startswith("."), "setuptools passes hidden names over"


def test_a_lock_keeps_hashes_and_markers_of_what_it_keeps() -> None:
    lock = (
        "# made by hand\n--only-binary :all:\nmypy==2.0 \\\n    --hash=sha256:aa\n"
        "PyTest==9.0 \\\n    --hash=sha256:bb\n"
        'colorama==0.4.6 ; sys_platform == "win32"\npluggy==1.5\n    # via pytest\n'
    )
    kept = students_lock(lock, ["pytest"])
    assert "mypy" not in kept
    assert "sha256:aa" not in kept
    assert "only-binary" not in kept
    for part in (
        "PyTest==9.0 \\\n    --hash=sha256:bb\n",
        'colorama==0.4.6 ; sys_platform == "win32"\n',
        "pluggy==1.5\n",
    ):
        assert part in kept
    with pytest.raises(ReleaseError, match="does not pin pytest"):
        students_lock("pluggy==1.5\n", ["pytest"])


# ── What is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


def refused(course: Path, target: Path, match: str) -> None:
    """The release says why and leaves the folder around the target as it was."""
    before = sorted(path.name for path in target.parent.iterdir())
    with pytest.raises(ReleaseError, match=match):
        write(course, target)
    assert sorted(path.name for path in target.parent.iterdir()) == before


def test_an_existing_folder_must_be_empty(course: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    target.mkdir()
    write(course, target)
    refused(course, target, "is not an empty folder")
    (tmp_path / "file").write_text("x")
    refused(course, tmp_path / "file", "is not an empty folder")
    with pytest.raises(ReleaseError, match="there is no folder"):
        write(course, tmp_path / "nowhere" / "copy")


def test_stubs_out_of_step_are_refused(course: Path, tmp_path: Path) -> None:
    with (course / "exercises" / "modules.py").open("a") as file:
        file.write("# a student was here\n")
    refused(
        course, tmp_path / "copy", r"nothing was written, because exercises/modules\.py is not what solutions/ makes"
    )


@pytest.mark.parametrize(
    "name",
    [
        "LICENSE",
        "tests",
        "requirements.lock",
        "solutions",
        "mistakes",
        "pyproject.toml",
        "docs/exercises",
        "docs/notation.md",
    ],
)
def test_an_incomplete_course_is_refused(course: Path, tmp_path: Path, name: str) -> None:
    path = course / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    refused(course, tmp_path / "copy", name)


def test_an_interruption_leaves_nothing(course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []

    def interrupt(self: object, name: str, data: bytes) -> None:
        looked_at.append(name)
        if len(looked_at) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(Secrets, "leak", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(course, tmp_path / "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["course"]


# ── Leaks: each rule is shown to bite ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "marker", ["### BEGIN SOLUTION", "# end solution", "## Begin Hidden Tests", "x = 1  #END SOLUTION"]
)
def test_a_marker_is_a_leak(course: Path, tmp_path: Path, marker: str) -> None:
    (course / "nanolm" / "extra.py").write_text(f"import os\n{marker}\n")
    refused(course, tmp_path / "copy", r"nanolm/extra\.py line 2 looks like a solution marker")


@pytest.mark.parametrize("form", ["    {}\n", "# so: {}\n", "text = '''{}'''\n", "Write `{}` here.\n"])
@pytest.mark.parametrize("name", ["tests/notes.md", "nanolm/extra.py"])
def test_a_line_of_a_solution_is_a_leak(course: Path, tmp_path: Path, name: str, form: str) -> None:
    (course / name).write_text("\n\n" + form.format(secret_line(course).replace(" = ", "  =  ")), encoding="utf-8")
    refused(course, tmp_path / "copy", rf"{re.escape(name)} line 3 holds a line of a solution in solutions/modules\.py")


def test_a_notebook_is_read_as_a_person_sees_it(course: Path, tmp_path: Path) -> None:
    path = course / "release" / "norms.ipynb"
    path.parent.mkdir()
    path.write_text(notebook(["x = 1\n", f"    {secret_line(course)}\n"]))
    refused(course, tmp_path / "copy", r"release/norms\.ipynb cell 1 line 2 holds a line of a solution")
    centering = forward_of(course / "mistakes" / "rejected" / "rmsnorm" / "centering.py")
    path.write_text(notebook(centering.splitlines(keepends=True)))
    refused(course, tmp_path / "copy", r"release/norms\.ipynb cell 1 line \d+ begins with lines of mistakes/")
    path.write_text("not JSON")
    refused(course, tmp_path / "copy", "not a notebook")
    secrets = Secrets(course)
    for text in ("[]", '{"cells": 3}', '{"cells": [3]}', "{}"):
        with pytest.raises(ReleaseError, match="not a notebook"):
            secrets.leak("release/norms.ipynb", text.encode())


def test_an_answer_in_two_cells_a_title_or_an_output_is_seen(course: Path, tmp_path: Path) -> None:
    path = course / "release" / "norms.ipynb"
    path.parent.mkdir()
    centering = forward_of(course / "mistakes" / "rejected" / "rmsnorm" / "centering.py").splitlines(keepends=True)
    whole = json.loads(notebook(centering))
    halves = [{**whole["cells"][0], "source": part} for part in (centering[:3], centering[3:])]
    path.write_text(json.dumps({**whole, "cells": halves}))
    refused(course, tmp_path / "copy", r"release/norms\.ipynb .*begins with lines of mistakes/")
    path.write_text(json.dumps({**json.loads(notebook(["x = 1"])), "metadata": {"title": secret_line(course)}}))
    refused(course, tmp_path / "copy", r"release/norms\.ipynb line \d+ holds a line of a solution")
    shown = json.loads(notebook(["x = 1"]))
    shown["cells"][0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "1"}]
    path.write_text(json.dumps(shown))
    refused(course, tmp_path / "copy", "cell 1 holds an output or an attachment")


@pytest.mark.parametrize("kind", ["rejected", "pairs", "accepted"])
def test_every_bank_file_is_recognised(course: Path, kind: str) -> None:
    secrets = Secrets(course)
    files = sorted((course / "mistakes" / kind).glob("*/*.py"))
    assert files
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert f"tests/helper.py is mistakes/{kind}" in str(secrets.leak("tests/helper.py", text.encode())), path
        pasted = "import os\n\n\n" + body_of(path).replace("\n\n", "\n    # what follows\n\n")
        assert re.search(r"line \d+ (begins with lines of mistakes|holds a line of a solution)", str(
            secrets.leak("tests/helper.py", pasted.encode())
        )), path  # fmt: skip


def test_a_bank_file_is_a_leak(course: Path, tmp_path: Path) -> None:
    helper = course / "tests" / "helper.py"
    helper.write_text('"""Helper."""\n\n' + forward_of(course / "mistakes" / "rejected" / "rmsnorm" / "centering.py"))
    refused(course, tmp_path / "copy", r"tests/helper\.py line \d+ begins with lines of mistakes/")
    shutil.copyfile(course / "mistakes" / "README.md", course / "tests" / "README.md")
    helper.unlink()
    refused(course, tmp_path / "copy", r"tests/README\.md is mistakes/README\.md")


def test_what_cannot_be_read_is_refused(course: Path, tmp_path: Path) -> None:
    archive = course / "tests" / "data.zip"
    archive.write_bytes(b"PK\x03\x04\xff\xfe")
    refused(course, tmp_path / "copy", r"tests/data\.zip is not text")
    archive.unlink()
    (course / "tests" / "answers.py").symlink_to(course / "solutions" / "modules.py")
    refused(course, tmp_path / "copy", r"tests/answers\.py is missing or a link")


def test_honest_lines_are_no_leak(course: Path) -> None:
    """Lines that tests and answers share by chance: block headers, short statements, one line of a bank file."""
    honest = "super().__init__()\nself.eps = eps\nimport torch\nfrom torch import nn\nclass RMSNorm(nn.Module):\n"
    secrets = Secrets(course)
    assert secrets.leak("tests/helper.py", honest.encode()) is None
    for path in (course / "mistakes" / "rejected").glob("*/*.py"):
        for line in body_of(path).splitlines():
            if not any(secret in line for secret in secrets.region_lines):
                assert secrets.leak("tests/helper.py", f"x = 1\n{line}\ny = 2\n".encode()) is None, line


# ── On a student's machine ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Student]:
    """The copy, installed with the packages that are here."""
    folder = tmp_path_factory.mktemp("student")
    write(small_course(folder / "course"), folder / "copy")
    machine = Student(folder / "copy", folder / "environment")
    machine.install(lambda text: None, reuse_packages=True)
    yield machine
    shutil.rmtree(folder, ignore_errors=True)


def shown_in_readme(student: Student) -> list[list[str]]:
    """Lines of each output that the README shows."""
    text = (student.folder / "README.md").read_text(encoding="utf-8")
    return [block.splitlines() for block in re.findall(r"```text\n(.*?)```", text, re.DOTALL)]


def test_the_first_run_is_all_red_and_as_the_readme_shows_it(student: Student) -> None:
    status, output = student.run("pytest", NANOLM_IMPL="exercises")
    assert status == 1
    assert set(outcome_counts(output)) <= {"not attempted", "skipped"}, output
    printed = [line.rstrip() for line in output.splitlines()]
    assert len(first_run().splitlines()) == len(EXERCISES) + 1
    assert shown_in_readme(student)[0] == first_run().splitlines()
    for line in first_run().splitlines():
        assert line in printed


def test_a_mistake_is_named_as_the_readme_shows_it(student: Student) -> None:
    path = student.folder / "exercises" / "modules.py"
    stub = path.read_bytes()
    shutil.copyfile(ROOT / "mistakes" / "rejected" / "rmsnorm" / "centering.py", path)
    try:
        status, output = student.run("nanolm", "check", "rmsnorm")
    finally:
        path.write_bytes(stub)
    assert status == 1
    assert "rmsnorm-centering" in output
    printed = [line.rstrip() for line in output.splitlines()]
    for block in shown_in_readme(student)[1:]:
        assert [line for line in block if line not in printed] == [], output


def test_the_copy_offers_its_own_commands_only(student: Student) -> None:
    status, output = student.run("nanolm", "--help")
    offered = set(re.findall(r"^  ([a-z]+) ", output, re.MULTILINE))
    assert (status, offered) == (0, set(STUDENTS))
    status, output = student.run("nanolm", "verify")
    assert "verify" in SUMMARIES
    assert (status, "instructors' command" in output) == (2, True)


def test_the_smoke_test_sees_the_red_start(student: Student, tmp_path: Path) -> None:
    before = sorted(os.listdir(student.folder))
    steps: list[str] = []
    sentence = smoke_test(student.folder, steps.append, reuse_packages=True)
    assert "all not attempted" in sentence
    assert len(steps) >= 4
    assert sorted(os.listdir(student.folder)) == before


def test_the_smoke_test_refuses_a_copy_that_fails(course: Path, tmp_path: Path) -> None:
    write(course, tmp_path / "copy")
    (tmp_path / "copy" / "tests" / "test_broken.py").write_text("def test_broken():\n    assert False\n")
    with pytest.raises(ReleaseError, match="every test not attempted"):
        smoke_test(tmp_path / "copy", lambda text: None, reuse_packages=True)
