"""Who may know whom: the import arrows of the house, read off every file, and what a process really loads."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HOUSE = ("exercises", "solutions", "tests", "nanolm", "grader", "mistakes", "selftests", "benchmarks")

ARROWS: dict[str, frozenset[str]] = {
    "tests": frozenset({"nanolm"}),
    "mistakes": frozenset({"solutions"}),
    "grader": frozenset({"nanolm"}),
    "nanolm": frozenset(),
    "exercises": frozenset(),
    "solutions": frozenset(),
}
"""What each folder may import of the house, beside itself."""

GIVEN = "exercises.config"
"""What the course gives; every submission may import it, and so may a file of the bank, which is one."""

LONGEST_FILE = 420
LONGER_FILES = {
    "selftests/test_student_run.py": 480,
    "selftests/test_worker.py": 500,
}
"""Files that wait to be parted: none may grow, none may be added."""
PLUGIN_MODULES = 25
"""Modules that the plugin may add to what pytest has loaded: a student waits for each of them in every run."""

IMPORTING_CALLS = ("import_module", "__import__", "find_spec", "importorskip", "run_module", "resolve_name")
DOTTED = re.compile(rf"(?:{'|'.join(HOUSE)})(?:\.(?!(?:py|toml|json)$)[a-z_]\w*)+(?::\w+)?")
"""A string that can only be the name of a module of the house, or an entry point."""


def files(folder: str) -> list[Path]:
    found = [path for path in sorted((ROOT / folder).rglob("*.py")) if "__pycache__" not in path.parts]
    assert found, folder
    return found


def imports(text: str, package: str = "") -> Iterator[tuple[int, str]]:
    """Line and dotted name of every module that a text imports or names where a module's name is meant."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [package] if node.level else []
            base += [node.module] if node.module else []
            yield from ((node.lineno, ".".join([*base, name.name])) for name in node.names)
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in IMPORTING_CALLS and node.args:
                yield from ((node.lineno, start) for start in _start(node.args[0]))
        elif isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "pytest_plugins" for t in node.targets):
            yield from ((node.lineno, start) for part in ast.walk(node.value) for start in _start(part))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and DOTTED.fullmatch(node.value):
            yield node.lineno, node.value


def _start(node: ast.AST) -> Iterator[str]:
    """The constant text that a string expression begins with, where it begins with one."""
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def crossings(folder: str, allowed: frozenset[str]) -> list[str]:
    found = []
    for path in files(folder):
        for line, name in imports(path.read_text(encoding="utf-8"), folder):
            top = name.partition(".")[0]
            given = folder == "mistakes" and name.startswith(GIVEN)
            if top in HOUSE and top != folder and top not in allowed and not given:
                found.append(f"{path.relative_to(ROOT)} line {line}: {name}")
    return found


@pytest.mark.parametrize("folder", ARROWS)
def test_the_arrows_point_one_way(folder: str) -> None:
    assert crossings(folder, ARROWS[folder]) == []


@pytest.mark.parametrize(
    "text",
    [
        "import tests",
        "import tests.oracles as o",
        "from tests import oracles",
        "from tests.oracles import logistic",
        "def f():\n    from tests import oracles",
        "import importlib\nimportlib.import_module('tests.oracles')",
        "from importlib import import_module\nimport_module('tests')",
        "import_module(f'tests.{name}')",
        "__import__('tests')",
        "importlib.util.find_spec('tests')",
        "pytest_plugins = ['tests.fixtures']",
        "PRELOADED = ('torch', 'tests.oracles')",
        "if TYPE_CHECKING:\n    from tests.oracles import Array",
    ],
)
def test_an_import_is_seen_however_it_is_written(text: str) -> None:
    assert {name.partition(".")[0] for _, name in imports(text)} >= {"tests"}


def test_what_only_looks_like_an_import_is_not_taken_for_one() -> None:
    text = "'''tests.oracles and more'''\nx = 'tests/oracles.py'\ny = 'tests.py'\nimport testsuite\nz = 'tests'\n"
    assert {name for _, name in imports(text)} == {"testsuite"}


def test_relative_imports_stay_in_their_folder() -> None:
    assert list(imports("from . import oracles", "tests")) == [(1, "tests.oracles")]
    assert list(imports("from .oracles import logistic", "tests")) == [(1, "tests.oracles.logistic")]


@pytest.mark.parametrize("folder", ["mistakes", "solutions", "exercises"])
def test_answers_import_what_a_students_file_may(folder: str) -> None:
    allowed = {*sys.stdlib_module_names, "torch", "numpy", "einops", "jaxtyping", folder}
    for path in files(folder):
        names = {name for _, name in imports(path.read_text(encoding="utf-8"), folder) if not name.startswith(GIVEN)}
        assert {name.partition(".")[0] for name in names} <= allowed, path


def test_the_students_kit_needs_nothing_of_the_graders() -> None:
    """Students install no msgspec for the tests' sake, and only a command of theirs prints with rich."""
    for folder in ("nanolm", "tests"):
        for path in files(folder):
            names = {name.partition(".")[0] for _, name in imports(path.read_text(encoding="utf-8"), folder)}
            graders = {"msgspec", "grader"} | ({"rich"} if path.parent.name != "experiments" else set())
            assert not names & graders, path


@pytest.mark.parametrize("folder", ["nanolm", "tests"])
def test_the_students_kit_runs_on_windows(folder: str) -> None:
    """No module that only Unix has is imported when a file is, and no process is forked at all."""
    unix = {"fcntl", "resource", "pwd", "grp", "termios", "posix", "pty"}
    for path in files(folder):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert not {name for _, name in imports(ast.unparse(node), folder)} & unix, path
        for node in ast.walk(tree):
            forks = isinstance(node, ast.Attribute) and node.attr in ("fork", "forkpty", "setrlimit")
            assert not forks, f"{path} line {getattr(node, 'lineno', 0)}"


# --- what processes load ---------------------------------------------------------------------------------------------


def loaded(code: str) -> set[str]:
    """Names of the modules of a fresh interpreter that stands in the repository and has run `code`."""
    script = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{code}\nprint('\\n'.join(sorted(sys.modules)))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def of_the_house(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} & set(HOUSE)


def test_a_zygote_holds_nothing_that_a_fork_must_not_inherit() -> None:
    code = "import grader.zygote, importlib\nfor name in grader.zygote.PRELOADED: importlib.import_module(name)"
    modules = loaded(code)
    assert of_the_house(modules) == {"grader", "nanolm"}
    assert not modules & {"pytest", "hypothesis", "grader.session", "grader.bank", "grader.results", "nanolm.diagnosis"}
    # The same question finds them where they are loaded.
    assert of_the_house(loaded("import tests.oracles, solutions.modules")) == {"tests", "solutions"}


def test_the_plugin_costs_a_student_next_to_nothing() -> None:
    plain = loaded("import pytest")
    modules = loaded("import pytest, nanolm.plugin") - plain
    assert "nanolm.plugin" in modules
    assert not {name.partition(".")[0] for name in modules} & {"torch", "numpy", "hypothesis", "safetensors", "msgspec"}
    assert len(modules) <= PLUGIN_MODULES, sorted(modules)


def test_the_grader_runs_the_tests_without_importing_them_or_an_answer() -> None:
    modules = loaded("import grader.pool, grader.commands, grader.verify, grader.fingerprints, grader.demo")
    assert of_the_house(modules) == {"grader", "nanolm"}


# --- the repository --------------------------------------------------------------------------------------------------


def repository() -> list[Path]:
    """Every file that is or may become part of the repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60)
    except OSError:
        pytest.skip("there is no git")
    if done.returncode != 0:
        pytest.skip("this copy is no git repository")
    found = [ROOT / name for name in done.stdout.split("\0") if name]
    return [path for path in found if path.is_file()]


def test_every_file_holds_one_idea() -> None:
    long = {}
    for path in repository():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".py":
            lines = len(path.read_text(encoding="utf-8").splitlines())
            if lines > LONGER_FILES.get(name, LONGEST_FILE):
                long[name] = lines
    assert long == {}


def test_the_repository_does_not_say_where_or_how_it_was_written() -> None:
    words = ("/" + "work" + "/", "sub" + "agent")
    found = []
    for path in repository():
        text = path.read_bytes().decode("utf-8", "replace").casefold()
        found += [f"{path.relative_to(ROOT)} mentions {word}" for word in words if word in text]
    assert found == []
