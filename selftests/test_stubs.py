"""Stubs and `nanolm sync`: nothing that could leak gets through, nobody's work is overwritten, every task is raised."""

from __future__ import annotations

import ast
import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from grader import sync
from grader.stubs import KNOWN, Region, StubError, known_stubs, make_stub, split, stub_files, write_stubs
from nanolm.adapters import ENTRIES
from nanolm.cli import main
from nanolm.course import GIVEN_FILES, exercise_files
from nanolm.execution import Executor
from nanolm.protocol import Call, Outcome, StudentFault
from nanolm.sources import TextSource

ROOT = Path(__file__).resolve().parent.parent

GOOD = """\
def answer(x: int) -> int:
    \"\"\"Twice x.\"\"\"
    ### BEGIN SOLUTION rmsnorm: double x
    # twice
    return x + x
    ### END SOLUTION


def given() -> int:
    return 1
"""
STUB = """\
def answer(x: int) -> int:
    \"\"\"Twice x.\"\"\"
    raise NotImplementedError("rmsnorm: double x")


def given() -> int:
    return 1
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A copy of solutions/ and exercises/, and of tests/, without which a folder is no course."""
    for name in ("solutions", "exercises", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def contents(course: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((course / "exercises").iterdir())}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


# --- making a stub ---------------------------------------------------------------------------------------------------


def test_a_region_becomes_the_line_that_names_its_task() -> None:
    assert make_stub(GOOD, "modules.py") == STUB
    (region,) = (part for part in split(GOOD, "modules.py") if isinstance(part, Region))
    assert (region.exercise, region.task, region.indent) == ("rmsnorm", "double x", "    ")
    assert region.lines == ("    # twice", "    return x + x")


REFUSED = {
    "unpaired begin": ("    ### END SOLUTION\n", "", "has no `### END SOLUTION`"),
    "unpaired end": ("    ### BEGIN SOLUTION rmsnorm: double x\n", "", "without a region before it"),
    "second end": ("    ### END SOLUTION\n", "    ### END SOLUTION\n" * 2, "without a region before it"),
    "nested": ("    # twice\n", "    ### BEGIN SOLUTION rmsnorm: again\n", "not inside another region"),
    "no task": ("rmsnorm: double x", "rmsnorm:", "expected `### BEGIN SOLUTION <exercise>: <task>`"),
    "no exercise": (" rmsnorm: double x", "", "expected `### BEGIN SOLUTION <exercise>: <task>`"),
    "unknown exercise": ("rmsnorm: double", "attention: double", "unknown exercise"),
    "code before the marker": ("    ### BEGIN", "    x = 2 ### BEGIN", "expected `### BEGIN SOLUTION"),
    "more hashes": ("    ### BEGIN", "    #### BEGIN", "expected `### BEGIN SOLUTION"),
    "fewer hashes": ("### BEGIN", "# BEGIN", "looks like a solution marker"),
    "no space": ("### BEGIN", "###BEGIN", "looks like a solution marker"),
    "small letters": ("### BEGIN SOLUTION", "### begin solution", "looks like a solution marker"),
    "words after the end": ("### END SOLUTION", "### END SOLUTION of it", "looks like a solution marker"),
    "hidden tests": ("    return 1", "    ### BEGIN HIDDEN TESTS\n    return 1", "looks like a solution marker"),
    "misspelt end": ("### END SOLUTION", "### END SOLUTON", "looks like a solution marker"),
    "misspelt begin": ("### BEGIN SOLUTION", "### BEGN SOLUTION", "looks like a solution marker"),
    "empty": ("    # twice\n    return x + x\n", "\n  \n", "an empty region"),
    "quote in the task": ("double x", 'say "double"', "a quote in the task"),
    "backslash in the task": ("double x", "double \\x", "a quote in the task"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_could_leak_or_break_is_refused(case: str) -> None:
    old, new, words = REFUSED[case]
    assert GOOD.count(old) == 1
    with pytest.raises(StubError, match=re.escape(words)) as refused:
        make_stub(GOOD.replace(old, new), "solutions/modules.py")
    assert str(refused.value).startswith("solutions/modules.py")


def test_a_pair_whose_markers_are_both_misspelt_is_refused() -> None:
    text = GOOD.replace("### BEGIN SOLUTION", "### BEGN SOLTION").replace("### END SOLUTION", "### ENDE LÖSUNG")
    with pytest.raises(StubError, match="line 3: looks like a solution marker"):
        make_stub(text, "modules.py")


def test_a_region_that_leaves_no_python_is_refused(course: Path) -> None:
    edit(course / "solutions" / "modules.py", "        ### BEGIN SOLUTION", "            ### BEGIN SOLUTION")
    with pytest.raises(StubError, match=r"the stub of solutions/modules\.py is not Python: line \d+"):
        stub_files(course)


def test_a_solution_that_is_not_there_is_one_sentence(course: Path) -> None:
    (course / "solutions" / "modules.py").unlink()
    with pytest.raises(StubError, match=r"solutions/modules\.py cannot be read"):
        stub_files(course)


# --- the committed stubs ---------------------------------------------------------------------------------------------


def test_the_committed_stubs_are_what_the_solutions_make(course: Path) -> None:
    made = stub_files(ROOT)
    assert set(made) == {*GIVEN_FILES, *exercise_files()}
    for name, text in made.items():
        assert (ROOT / "exercises" / name).read_text(encoding="utf-8") == text
        digest = hashlib.sha256((ROOT / "exercises" / name).read_bytes()).hexdigest()
        assert known_stubs(ROOT)[name] == digest
    assert sync.problems(ROOT) == []
    before = contents(course)
    assert write_stubs(course) == []
    assert contents(course) == before


def test_stubs_are_written_anew_where_nothing_stands(course: Path) -> None:
    before = contents(course)
    for name in (*exercise_files(), *GIVEN_FILES, KNOWN):
        (course / "exercises" / name).unlink()
    assert set(write_stubs(course)) == {*exercise_files(), *GIVEN_FILES, KNOWN}
    assert contents(course) == before


def regions(file: str) -> Iterator[tuple[str, Region]]:
    """Each region of a solution with the dotted name of the function around it."""
    text = (ROOT / "solutions" / file).read_text(encoding="utf-8")
    tasks = {f"{part.exercise}: {part.task}": part for part in split(text, file) if isinstance(part, Region)}
    seen = set()
    for node in ast.parse(make_stub(text, file)).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in inner:
            for raised in ast.walk(function):
                if isinstance(raised, ast.Raise) and isinstance(raised.exc, ast.Call):
                    task = ast.literal_eval(raised.exc.args[0])
                    owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
                    yield owner + getattr(function, "name", "?"), tasks[task]
                    seen.add(task)
    assert seen == set(tasks)


@pytest.fixture
def stubs() -> Iterator[TextSource]:
    source = TextSource({name: (ROOT / "exercises" / name).read_text(encoding="utf-8") for name in stub_files(ROOT)})
    source.install()
    yield source
    source.uninstall()


@pytest.mark.parametrize(("file", "name", "region"), [(f, n, r) for f in exercise_files() for n, r in regions(f)])
def test_every_stub_raises_its_task_when_it_runs(stubs: TextSource, file: str, name: str, region: Region) -> None:
    """Called with nothing useful: a stub must not get as far as looking at its arguments."""
    owner, _, method = name.rpartition(".")
    names = stubs.names(file)
    function = getattr(names[owner], method) if owner else names[name]
    code = function.__code__
    arguments = [object()] * (code.co_argcount - bool(owner))
    receiver = [names[owner].__new__(names[owner])] if owner else []
    keywords = dict.fromkeys(code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount])
    with pytest.raises(NotImplementedError) as raised:
        function(*receiver, *arguments, **keywords)
    assert str(raised.value) == f"{region.exercise}: {region.task}"


@pytest.mark.parametrize("entry", ["rms_norm", "rms_norm_fresh", "swiglu", "swiglu_fresh"])
def test_a_stub_is_not_attempted_for_the_executor(stubs: TextSource, entry: str) -> None:
    call = Call(entry, {"x": torch.ones(2, 4), "gamma": torch.ones(4)}, {"d_model": 4, "d_ff": 6, "eps": 1e-6})
    with pytest.raises(StudentFault) as raised:
        Executor(stubs).execute(call)
    assert raised.value.outcome is Outcome.NOT_ATTEMPTED
    assert raised.value.message.startswith(f"{ENTRIES[entry].exercise}: ")


# --- somebody's work -------------------------------------------------------------------------------------------------

WORK = {
    "an answer": ('raise NotImplementedError("rmsnorm: keep eps', 'self.eps = eps  # ("rmsnorm: keep eps'),
    "a comment": ("class RMSNorm(", "# I do not get this yet\nclass RMSNorm("),
    "a blank line": ("class RMSNorm(", "\nclass RMSNorm("),
}


@pytest.mark.parametrize("kind", WORK)
def test_a_file_in_which_somebody_has_worked_is_replaced_only_by_force(course: Path, kind: str) -> None:
    stub = course / "exercises" / "modules.py"
    edit(stub, *WORK[kind])
    # Something else is out of date too: it must wait.
    (course / "exercises" / KNOWN).unlink()
    before = contents(course)
    with pytest.raises(StubError, match=r"exercises/modules\.py.*nothing was written.*--force"):
        write_stubs(course)
    assert contents(course) == before
    assert sorted(write_stubs(course, force=True)) == [KNOWN, "modules.py"]
    assert sync.problems(course) == []


def test_an_old_stub_that_nobody_touched_is_replaced(course: Path) -> None:
    edit(course / "solutions" / "modules.py", "Keep eps and create gamma", "Remember eps and create gamma")
    assert sorted(write_stubs(course)) == [KNOWN, "modules.py"]
    assert "Remember eps" in (course / "exercises" / "modules.py").read_text(encoding="utf-8")
    assert sync.problems(course) == []


def test_line_ends_are_nobodys_work(course: Path) -> None:
    for path in (course / "exercises").iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert sync.problems(course) == []
    assert write_stubs(course) == []


def test_a_file_in_another_encoding_is_somebodys_work(course: Path) -> None:
    (course / "exercises" / "modules.py").write_bytes("# für später\n".encode("latin-1"))
    assert sync.problems(course)[0] == "exercises/modules.py is not what solutions/ makes: run `nanolm sync`"
    with pytest.raises(StubError, match="not a stub any more"):
        write_stubs(course)
    assert "modules.py" in write_stubs(course, force=True)


@pytest.mark.parametrize("how", ["another digest", "a digest missing", "gone"])
def test_tampering_with_the_known_stubs_is_seen(course: Path, how: str) -> None:
    known = course / "exercises" / KNOWN
    text = known.read_text(encoding="utf-8")
    if how == "another digest":
        known.write_text(text.replace(text[:8], "0" * 8), encoding="utf-8")
    elif how == "a digest missing":
        known.write_text("".join(text.splitlines(keepends=True)[:-1]), encoding="utf-8")
    else:
        known.unlink()
    (problem,) = sync.problems(course)
    assert problem.startswith(f"exercises/{KNOWN} is ")
    assert write_stubs(course) == [KNOWN]
    assert known.read_text(encoding="utf-8") == text


# --- proofs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def answer(x: int)", "def answer(y: int)"),
        ("def answer(x: int)", "def answer(x: float)"),
        ("def answer(x: int)", "def answer(x: int = 1)"),
        ("def answer(x: int) -> int", "def answer(x: int) -> float"),
        ("def given", "def taken"),
        ("def given", "@property\ndef given"),
        ("def given() -> int:\n    return 1\n", "class Given: ...\n"),
    ],
)
def test_the_surface_shows_what_a_caller_would_notice(old: str, new: str) -> None:
    assert sync.surface(GOOD) == sync.surface(STUB) == ["def answer(x: int) -> int", "def given() -> int"]
    assert sync.surface(GOOD.replace(old, new)) != sync.surface(STUB)


def test_bases_and_methods_belong_to_the_surface() -> None:
    text = "class A(B):\n    def __init__(self) -> None: ...\n    def _own(self) -> None: ...\n    def f(self): ...\n"
    assert sync.surface(text) == ["class A(B)", "def A.__init__(self) -> None", "def A.f(self) -> "]


def test_a_public_name_inside_a_region_is_a_difference(course: Path) -> None:
    helper = "\n    def helper(self) -> None:\n        return None\n\n        ### END SOLUTION\n\n    def forward("
    edit(course / "solutions" / "modules.py", "        ### END SOLUTION\n\n    def forward(", helper)
    write_stubs(course)
    assert any("public surface differs: ['def RMSNorm.helper" in problem for problem in sync.problems(course))


def test_a_line_of_a_solution_in_a_stub_is_found(course: Path) -> None:
    assert sync.leaks(GOOD, STUB) == []
    assert sync.leaks(GOOD, f"{STUB}    return  x + x\n") == ["return x + x"]
    # What also stands outside every region, and what is only a comment, gives nothing away.
    assert sync.leaks(f"{GOOD}    return x + x\n", f"{STUB}    return x + x\n") == []
    assert sync.leaks(GOOD, f"{STUB}    # twice\n") == []
    edit(course / "exercises" / "modules.py", "        raise Not", "        self.eps = eps\n        raise Not")
    assert "exercises/modules.py holds lines of a solution: 'self.eps = eps'" in sync.problems(course)


def test_a_stub_that_does_not_raise_its_task_is_found() -> None:
    assert list(sync.untasked(GOOD, STUB)) == []
    (problem,) = sync.untasked(GOOD, STUB.replace("double x", "halve x"))
    assert problem == "the stub does not raise raise NotImplementedError('rmsnorm: double x')"


# --- the command -----------------------------------------------------------------------------------------------------


def run(course: Path, *options: str) -> int:
    return main(["sync", "--course", str(course), *options])


def test_sync_check_says_with_its_exit_status_whether_all_is_well(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(course, "--check") == 0
    assert "exercises/ is what solutions/ makes" in capsys.readouterr().out
    edit(course / "exercises" / "modules.py", "class RMSNorm(", "# mine\nclass RMSNorm(")
    before = contents(course)
    assert run(course, "--check") == 1
    assert "PROBLEM  exercises/modules.py is not what solutions/ makes" in capsys.readouterr().out
    assert run(course) == 1
    assert "nanolm sync: not a stub any more: exercises/modules.py" in capsys.readouterr().err
    assert contents(course) == before
    assert run(course, "--force") == 0
    assert "written: exercises/modules.py" in capsys.readouterr().out
    assert run(course) == 0
    assert "nothing to change" in capsys.readouterr().out


def test_sync_refuses_a_broken_solution_and_a_folder_without_a_course(
    course: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(course / "solutions" / "modules.py", "### END SOLUTION", "### END SOLUTON")
    before = contents(course)
    for options in (["--check"], [], ["--force"]):
        assert run(course, *options) == 1
        assert "looks like a solution marker but is not spelt like one" in capsys.readouterr().err
    assert contents(course) == before
    (tmp_path / "nothing").mkdir()
    assert run(tmp_path / "nothing", "--check") == 4
