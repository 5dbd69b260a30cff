"""The student's loop as a student runs it: `pytest` in a copy of the project, its scoreboard, words and exit status."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nanolm.course import EXERCISES
from nanolm.texts import mistake

ROOT = Path(__file__).resolve().parents[1]
SOLUTION = (ROOT / "solutions" / "modules.py").read_text("utf-8")
MODULES = "tests/test_modules.py"
FULL = {
    name: (exercise.points, exercise.points) for name, exercise in EXERCISES.items() if exercise.file == "modules.py"
}
W6 = ["-k", "rmsnorm or swiglu", "-v"]

NORM_FORWARD = "wide = x.to(torch.promote_types(x.dtype, torch.float32))"
FFN_FORWARD = "projected: Tensor = self.w_down("


@dataclass(frozen=True)
class Finished:
    """One run of pytest: its exit status, what it printed, and the verdict of every test that ran."""

    status: int
    out: str
    err: str
    verdicts: dict[str, dict[str, Any]]
    seconds: float

    @property
    def scoreboard(self) -> list[str]:
        """Lines below the heading, up to pytest's next section."""
        _, _, below = self.out.partition("scoreboard: ")
        lines = below.splitlines()[1:]
        end = next((n for n, line in enumerate(lines) if line.startswith(("=", "total"))), len(lines))
        return [line for line in lines[: end + 1] if line]

    @property
    def points(self) -> dict[str, tuple[float, float]]:
        """Points of every exercise and their maximum, as the scoreboard prints them."""
        found = (re.match(r"(\w+)\s+([\d.]+) / ([\d.]+)", line) for line in self.scoreboard)
        return {m[1]: (float(m[2]), float(m[3])) for m in found if m and m[1] != "total"}

    def outcomes(self, exercise: str) -> set[str]:
        return {verdict["outcome"] for verdict in self.verdicts.values() if verdict["exercise"] == exercise}

    def messages(self, exercise: str) -> set[str]:
        return {verdict["message"] for verdict in self.verdicts.values() if verdict["exercise"] == exercise}

    def is_clean(self) -> bool:
        """Nothing of ours is shown to a student: no traceback, no internal error, no colours without a terminal."""
        printed = self.out + self.err
        return not any(sign in printed for sign in ("Traceback", "INTERNALERROR", "nanolm/", "\x1b", "/site-packages"))


@dataclass(frozen=True)
class Project:
    """A copy of what a student has, with pytest to run in it."""

    folder: Path

    def write(self, text: str) -> None:
        (self.folder / "exercises" / "modules.py").write_text(text, "utf-8")

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "recorder", *arguments]

    def environment(self, **more: str) -> dict[str, str]:
        kept = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("NANOLM_", "PYTEST_", "COV_", "CI", "BUILD_NUMBER"))
        }
        # No bytecode: files of one size that change within a second would be taken for the same.
        return (
            kept
            | {"PYTHONPATH": f"{self.folder}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "100"}
            | more
        )

    def run(self, *arguments: str, tests: str = MODULES, folder: Path | None = None, **environment: str) -> Finished:
        """Run pytest on the tests of `modules.py` (on all: `tests="tests"`), in the copy or in another folder."""
        record = self.folder / "verdicts.jsonl"
        record.unlink(missing_ok=True)
        start = time.monotonic()
        done = subprocess.run(
            self.command(*arguments, tests),
            cwd=folder or self.folder,
            env=self.environment(RECORD=str(record), **environment),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        lines = record.read_text("utf-8").splitlines() if record.exists() else []
        verdicts = {verdict["test"].rpartition("::")[2]: verdict for verdict in map(json.loads, lines)}
        return Finished(done.returncode, done.stdout, done.stderr, verdicts, time.monotonic() - start)


RECORDER = """
import json, os, pathlib

def pytest_runtest_logreport(report):
    if "PYTEST_XDIST_WORKER" not in os.environ and "RECORD" in os.environ:
        with pathlib.Path(os.environ["RECORD"]).open("a") as file:
            for name, verdict in report.user_properties:
                if name == "nanolm":
                    file.write(json.dumps(verdict) + "\\n")
"""
"""A plugin that keeps the verdicts which the scoreboard is given, for us to read."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("student")
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("tests", "exercises"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "recorder.py").write_text(RECORDER, "utf-8")
    return Project(folder)


@pytest.fixture
def project(template: Project) -> Project:
    """The one copy, with the stubs in it again."""
    shutil.copy(ROOT / "exercises" / "modules.py", template.folder / "exercises" / "modules.py")
    return template


def edited(*changes: tuple[str, str]) -> str:
    """The solution with each old text replaced; a text that is not there is a mistake of the test."""
    text = SOLUTION
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def before(statement: str, code: str) -> tuple[str, str]:
    """A change that puts code in front of a statement of a method."""
    return statement, textwrap.indent(textwrap.dedent(code).strip(), " " * 8).lstrip() + f"\n        {statement}"


# ── Nothing written yet ──────────────────────────────────────────────────────────────────────────────────────────────


def test_the_stubs_are_one_line_an_exercise(project: Project) -> None:
    done = project.run(tests="tests")
    assert done.status == 1
    outcomes = [verdict["outcome"] for verdict in done.verdicts.values()]
    assert set(outcomes) == {"not_attempted", "not_run_here"}  # there is no GPU here
    assert done.points == {name: (0.0, exercise.points) for name, exercise in EXERCISES.items()}
    assert len(done.scoreboard) == len(EXERCISES) + 1
    assert all(re.search(r"not attempted$", line) for line in done.scoreboard[:-1])
    assert f"{outcomes.count('not_attempted')} not attempted in" in done.out
    assert "FAILURES" not in done.out
    assert "nanolm: testing exercises/" in done.out
    assert len(done.out.splitlines()) < 26 + 2 * len(EXERCISES)
    assert done.is_clean()


def test_the_command_of_week_6_works_as_printed(project: Project) -> None:
    project.write(SOLUTION)
    done = project.run(*W6, NANOLM_IMPL="exercises_en")
    assert done.status == 0
    assert {name: done.points[name] for name in ("rmsnorm", "swiglu")} == {"rmsnorm": (14, 14), "swiglu": (12, 12)}
    assert re.search(r"::test_rmsnorm_worked_example PASSED", done.out)
    assert re.search(r"::test_swiglu_worked_numbers PASSED", done.out)
    assert "nanolm: testing exercises/" in done.out
    assert done.is_clean()


@pytest.mark.parametrize("name", ["sol\x1b[31mu\ntions", "solutions", "../" + "x" * 500])
def test_an_unknown_implementation_is_a_usage_error(project: Project, name: str) -> None:
    done = project.run("-q", NANOLM_IMPL=name)
    assert done.status == 4
    assert "Available: exercises, exercises_en" in done.err
    assert repr(name[:80]) in done.err
    assert "\x1b" not in done.err + done.out
    assert len(done.err) < 500
    assert done.is_clean()


def test_the_solutions_get_all_points(project: Project) -> None:
    done = project.run("-q", folder=ROOT, NANOLM_IMPL="solutions")
    assert done.status == 0
    assert done.points == FULL
    assert "scoreboard: solutions" in done.out
    assert {verdict["outcome"] for verdict in done.verdicts.values()} == {"passed"}
    assert done.is_clean()


# ── Files that cannot be used ────────────────────────────────────────────────────────────────────────────────────────


def test_a_syntax_error_is_shown_once_with_its_place(project: Project) -> None:
    project.write(
        edited(("return (normalised * self.gamma).to(x.dtype)", "return (normalised * self.gamma).to(x.dtype"))
    )
    done = project.run("-v", "--tb=short")
    assert done.status == 1
    line = next(n for n, text in enumerate(SOLUTION.splitlines(), 1) if "return (normalised" in text)
    for exercise in FULL:
        assert done.outcomes(exercise) == {"exception"}
        assert len({message.partition("\n")[0] for message in done.messages(exercise)}) == 1
    assert done.out.count(f"exercises/modules.py line {line} raised SyntaxError: '(' was never closed") == 1
    shown, caret = done.verdicts["test_rmsnorm_gradient"]["message"].splitlines()[1:3]
    assert caret.strip() == "^"
    assert shown[caret.index("^") :] == "(x.dtype"
    assert sum(points for points, _ in done.points.values()) == 0
    assert done.is_clean()


def test_an_import_of_what_is_not_there_says_what_may_be_imported(project: Project) -> None:
    project.write(edited(("import torch\n", "import torch\nimport triton_of_my_own\n")))
    done = project.run("-q")
    assert done.status == 1
    (message,) = {m.partition("Read:")[0] for m in done.messages("rmsnorm")}
    assert "raised ModuleNotFoundError: No module named 'triton_of_my_own'" in message
    assert "import triton_of_my_own" in message.splitlines()[1]
    assert "Allowed imports: the standard library, torch, numpy, einops, jaxtyping." in message
    assert done.outcomes("rmsnorm") == done.outcomes("swiglu") == {"exception"}
    assert done.is_clean()


def test_a_missing_class_and_a_wrong_signature(project: Project) -> None:
    project.write(
        edited(("class RMSNorm(", "class RootMeanSquare("), ("(self, d_model: int, d_ff: int)", "(self, d_model: int)"))
    )
    done = project.run("-q")
    assert done.outcomes("rmsnorm") == {"wrong_interface"}
    assert all(m.startswith("exercises/modules.py defines no RMSNorm. Keep the name") for m in done.messages("rmsnorm"))
    assert done.outcomes("swiglu") <= {"exception", "wrong_interface"}
    assert "positional argument" in " ".join(done.messages("swiglu"))
    assert done.points == {name: (0.0, full) for name, (full, _) in FULL.items()}
    assert done.is_clean()


# ── Code that does odd things when it is called ──────────────────────────────────────────────────────────────────────


def test_a_forgotten_return_and_sys_exit(project: Project) -> None:
    done_marker = "return (normalised * self.gamma).to(x.dtype)"
    project.write(
        edited((done_marker, done_marker.removeprefix("return ")), before(FFN_FORWARD, "import sys; sys.exit(0)"))
    )
    done = project.run("-q")
    assert done.status == 1
    worked = done.verdicts["test_rmsnorm_worked_example"]
    assert worked["outcome"] == "wrong_interface"
    assert "returned nothing (None): is a `return` missing?" in worked["message"]
    assert done.verdicts["test_rmsnorm_has_only_gamma"]["outcome"] == "passed"
    left = done.verdicts["test_swiglu_gate_is_silu"]
    assert left["outcome"] == "exception"
    assert "raised SystemExit: 0" in left["message"]
    assert done.verdicts["test_swiglu_has_three_bias_free_maps"]["outcome"] == "passed"
    assert done.is_clean()


def test_an_endless_loop_ends_and_costs_its_own_test_only(project: Project) -> None:
    project.write(
        edited(
            before(NORM_FORWARD, "while x.dim() == 1:\n    pass"),
            before(
                FFN_FORWARD,
                """
                while x.shape[-1] == 12:
                    try:
                        x.sum()
                    except:
                        pass
                """,
            ),
        )
    )
    done = project.run("-q", NANOLM_TEST_SECONDS="2")
    assert done.status == 1
    stopped = {name for name, verdict in done.verdicts.items() if verdict["outcome"] == "timeout"}
    assert stopped == {"test_rmsnorm_any_leading_axes", "test_swiglu_gate_is_silu"}
    assert "stopped after 2 s: is there a loop that never ends?" in done.out
    assert {v["outcome"] for name, v in done.verdicts.items() if name not in stopped} == {"passed"}
    assert len(done.verdicts) == 28
    assert done.seconds < 40
    assert done.is_clean()


def test_a_loop_that_swallows_every_exception_ends_the_run_with_the_test_named(project: Project) -> None:
    swallow = "import time\nwhile x.dim() == 1:\n    try:\n        time.sleep(60)\n    except:\n        pass"
    project.write(edited(before(NORM_FORWARD, swallow)))
    done = project.run("-q", "-k", "rmsnorm_any_leading", NANOLM_TEST_SECONDS="0.5")
    assert done.status != 0
    assert "tests/test_modules.py::test_rmsnorm_any_leading_axes still ran after 2 s" in done.err
    assert done.seconds < 40
    assert done.is_clean()


def test_a_loop_that_only_the_diagnosis_meets_ends_too(project: Project) -> None:
    project.write(
        edited(
            ("torch.rsqrt(mean_square + self.eps)", "(2 + mean_square)"),
            before(NORM_FORWARD, "while x.shape == (1, 24, 64):\n    pass"),
        )
    )
    done = project.run("-q", "-k", "rmsnorm", NANOLM_TEST_SECONDS="2")
    assert done.status == 1
    assert "wrong_value" in done.outcomes("rmsnorm")
    assert "timeout" not in done.outcomes("rmsnorm")
    assert done.seconds < 40
    assert done.is_clean()


def test_results_that_are_hardly_tensors_and_arguments_that_change_their_shape(project: Project) -> None:
    reshape = "x.unsqueeze_(0)\n        projected: Tensor = self.w_down("
    project.write(
        edited(
            before(NORM_FORWARD, "return x.mean() if x.dim() == 3 else x.to('meta')"),
            (FFN_FORWARD, reshape),
            ("return projected", "return projected[0]"),
        )
    )
    done = project.run("-q")
    assert done.status == 1
    assert done.verdicts["test_rmsnorm_worked_example"]["outcome"] == "wrong_shape"
    assert "has shape []; expected [1, 1, 4]" in done.verdicts["test_rmsnorm_worked_example"]["message"]
    assert done.verdicts["test_rmsnorm_any_leading_axes"]["outcome"] == "wrong_interface"
    assert "infrastructure" not in done.outcomes("rmsnorm") | done.outcomes("swiglu")
    lost = {v["test"].rpartition("::")[2]: v["outcome"] for v in done.verdicts.values() if v["score"] == 0}
    assert {test: o for test, o in lost.items() if "swiglu" in test} == {
        "test_swiglu_leaves_its_input_unchanged": "input_mutated"
    }
    assert "of its argument x from [2, 3, 5] to [1, 2, 3, 5]" in done.out
    assert done.is_clean()


def test_another_name_of_the_gain_is_noted_and_another_not_implemented_is_an_exception(project: Project) -> None:
    text = edited(before(FFN_FORWARD, 'raise NotImplementedError("something else \\ud800")'))
    assert "self.gamma" in text
    project.write(text.replace("self.gamma", "self.weight"))
    done = project.run("-q")
    assert done.points["rmsnorm"] == FULL["rmsnorm"]
    assert done.points["swiglu"] == (1.5, 12.0)
    assert any("note:" in line and "`weight`" in line for line in done.scoreboard)
    assert done.outcomes("swiglu") == {"exception", "passed"}
    assert r"raised NotImplementedError: something else \ud800" in done.out
    assert done.is_clean()


def test_the_answer_is_forbidden_and_escapes_are_not_printed_raw(project: Project) -> None:
    project.write(
        edited(
            before(NORM_FORWARD, "if x is None:\n    return F.rms_norm(x, (4,))"),
            before(FFN_FORWARD, 'raise ValueError("\\x1b[31mred\\x07 \\u202eesrever")'),
        )
    )
    done = project.run("-v", "--tb=long")
    assert done.status == 1
    assert done.outcomes("rmsnorm") == {"forbidden"}
    (message,) = done.messages("rmsnorm")
    line = (project.folder / "exercises" / "modules.py").read_text("utf-8").split("return F.rms_norm")[0].count(
        "\n"
    ) + 1
    assert message.startswith(f"exercises/modules.py line {line} uses F.rms_norm: it is the answer to this exercise.")
    assert message in done.out.replace("\n", " ") or message in done.out
    assert done.points["rmsnorm"] == (0.0, 14.0)
    assert done.outcomes("swiglu") == {"exception", "passed"}
    assert r"raised ValueError: \x1b[31mred\x07 \u202eesrever" in done.out
    assert not any(character in done.out for character in "\x1b\x07\u202e")
    assert done.is_clean()


def test_ctrl_c_in_the_middle_of_a_call_stops_the_run(project: Project) -> None:
    started = project.folder / "started"
    started.unlink(missing_ok=True)
    code = f"""
        import pathlib, time
        pathlib.Path({str(started)!r}).touch()
        time.sleep(30)
        """
    project.write(edited(before(NORM_FORWARD, code)))
    start = time.monotonic()
    with subprocess.Popen(
        project.command("-q"),
        cwd=project.folder,
        env=project.environment(NANOLM_TEST_SECONDS="40"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A shell without job control has its background jobs ignore Ctrl-C, and whatever they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as running:
        while not started.exists() and time.monotonic() - start < 30:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=20)
    assert running.returncode == 2
    assert "KeyboardInterrupt" in out
    assert "FAILURES" not in out


# ── pytest's own options ─────────────────────────────────────────────────────────────────────────────────────────────

TWO_MISTAKES = edited(
    (
        "torch.rsqrt(mean_square + self.eps)",
        "torch.rsqrt((wide - wide.mean(-1, keepdim=True)).square().mean(-1, keepdim=True) + self.eps)",
    ),
    ("normalised = wide *", "normalised = (wide - wide.mean(-1, keepdim=True)) *"),
    ("F.silu(self.w_gate(x)) * self.w_up(x)", "self.w_gate(x) * F.silu(self.w_up(x))"),
)


def causes(done: Finished) -> list[str]:
    """The named mistakes of the scoreboard, with how many failures each explains."""
    found = (re.match(r"\s+\w+: (\w+-[\w-]+) \(.*\).* (\d+ of \d+) ", line) for line in done.scoreboard)
    return [f"{match[1]}: {match[2]}" for match in found if match]


def test_a_mistake_is_named_and_options_change_the_form_only(project: Project) -> None:
    project.write(TWO_MISTAKES)
    quiet = project.run("-q")
    assert causes(quiet) == ["rmsnorm-centering: 4 of 4", "swiglu-swapped-gate-up: 10 of 10"]
    assert quiet.status == 1
    for name in ("rmsnorm-centering", "swiglu-swapped-gate-up"):  # named at every failure, explained at the first
        assert quiet.out.count(mistake(name)["question"]) == 1
        assert quiet.out.count(f"Mistake: {name}") > 1
    assert "Read: M6 §5" in quiet.out
    assert quiet.is_clean()

    spread = project.run("-n", "2")
    assert spread.status == 1
    assert spread.points == quiet.points
    assert causes(spread) == causes(quiet)
    assert {n: (v["outcome"], v["score"]) for n, v in spread.verdicts.items()} == {
        n: (v["outcome"], v["score"]) for n, v in quiet.verdicts.items()
    }
    assert spread.is_clean()

    silent = project.run("--tb=no", "-q")
    assert silent.points == quiet.points
    assert mistake("rmsnorm-centering")["question"] not in silent.out
    assert causes(silent) == causes(quiet)


def test_one_test_alone_is_a_partial_run_and_x_stops_at_the_first_failure(project: Project) -> None:
    project.write(TWO_MISTAKES)
    one = project.run("-k", "test_rmsnorm_squares_in_float32", "-v")
    assert one.status == 0
    assert list(one.verdicts) == ["test_rmsnorm_squares_in_float32"]
    assert one.points == {"rmsnorm": (1.0, 1.0)}
    assert any("(partial run: 1 of 16 tests)" in line for line in one.scoreboard)
    assert one.is_clean()

    first = project.run("-x", "--tb=short")
    assert first.status == 1
    assert [v["outcome"] for v in first.verdicts.values()].count("passed") == len(first.verdicts) - 1
    assert first.out.count("Mistake: ") == 1
    assert any(line.startswith("rmsnorm") for line in first.scoreboard)
    assert first.is_clean()
