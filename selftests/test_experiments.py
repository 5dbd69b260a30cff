"""`nanolm experiment`: the course's numbers come out of the reference, a mistake is seen, a stub is named."""

from __future__ import annotations

import ast
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.bank import given
from nanolm.course import EXERCISES, exercise_files
from nanolm.experiments import EXPERIMENTS, Experiment
from nanolm.experiments.figure import draw, save
from nanolm.experiments.lab import Lab, Unfinished, run
from nanolm.experiments.result import Claim, Number, Panel, Result, Table
from nanolm.sources import PackageSource, TextSource

ROOT = Path(__file__).resolve().parent.parent
NANOLM = Path(sys.executable).with_name("nanolm")
REFERENCE = PackageSource("solutions", ROOT / "solutions")
STUBS = PackageSource("exercises", ROOT / "exercises")

WITHOUT_NUMBERS = {"qk-axis", "frozen-stack", "oss-mlp"}
"""Experiments for which the course prints a statement and no number: they make claims."""

MISTAKES = {
    "epsilon": "rmsnorm/hardcoded-eps",
    "norm-geometry": "rmsnorm/sum-not-mean",
    "qk-axis": "qk_norm/per-head-instead-of-full",
    "forward-scale": "placement/transposed-weight",
    "jacobian": "placement/forgotten-residual",
    "decay": "placement/post-for-pre",
    "frozen-stack": "placement/missing-output-norm__both-blocks",
    "gelu-gap": "numpy_bridge/tanh-gelu",
    "gpt-oss-slice": "gpt_oss/contiguous-halves",
    "oss-mlp": "gpt_oss/missing-plus-one",
    "dyt-fit": "elementwise/alpha-outside-tanh",
    "ledger": "budget/mha-not-gqa",
    "sinkhorn": "mhc/rows-first",
    "two-streams": "mhc/mixing-dropped__mix-streams",
    "streams-mix": "mhc/mixing-dropped__mix-streams",
}
"""For each experiment a banked mistake that it must notice."""


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return {name: run(experiment, REFERENCE) for name, experiment in EXPERIMENTS.items()}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_reference_gives_the_courses_numbers(name: str, results: dict[str, Result]) -> None:
    result = results[name]
    assert [(number.name, number.value) for number in result.numbers if not number.agrees] == []
    assert [claim.statement for claim in result.claims if not claim.holds] == []
    assert bool(result.numbers) == (name not in WITHOUT_NUMBERS)
    assert result.numbers or result.claims
    assert all(len(row) == len(table.columns) for table in result.tables for row in table.rows)


def test_the_courses_numbers_are_these(results: dict[str, Result]) -> None:
    """Written out here once more, from the course's text, so that no experiment can quietly change its mind."""
    printed = {
        "forward-scale": {412442.094, 6.42348, 1.0},
        "epsilon": {707.1, 301.5},
        "gelu-gap": {0.020335},
        "dyt-fit": {1.43, 0.161704},
        "ledger": {41_943_040, 176_160_768, 8192, 218_112_000, 8_030_261_248, 80.8, 19.2},
        "two-streams": {4428, 2},
        "streams-mix": {3, 5},
        "gpt-oss-slice": {56, 7},
        "norm-geometry": {0.85, 1.13, 0.632, 1.604},
        "decay": {0.034},
        "sinkhorn": {0.6, 0.4, 1 / 3, 2 / 3},
    }
    for name, numbers in printed.items():
        assert numbers <= {number.course for number in results[name].numbers}, name


def test_a_row_of_gelu_gap_stands_at_its_label(results: dict[str, Result]) -> None:
    """GELU(1) is 0.841345, which a grid of steps of 0.003 does not hit."""
    for label, exact, near, gap in results["gelu-gap"].tables[0].rows:
        z = float(label)
        gelu = z * (1 + math.erf(z / math.sqrt(2))) / 2
        sigmoid_form = z / (1 + math.exp(-1.702 * z))
        assert float(exact) == pytest.approx(gelu, abs=6e-7), label
        assert float(near) == pytest.approx(sigmoid_form, abs=6e-7), label
        assert float(gap) == pytest.approx(abs(gelu - sigmoid_form), abs=6e-7), label
    assert ("1", "0.841345") in {row[:2] for row in results["gelu-gap"].tables[0].rows}


def test_the_scale_at_which_eps_shows_is_not_read_off_a_grid(results: dict[str, Result]) -> None:
    """The output's RMS is r / sqrt(r^2 + eps): 0.99 where r is 0.99 sqrt(eps / (1 - 0.99^2))."""
    for eps, remark in zip((1e-6, 1e-5), results["epsilon"].remarks, strict=True):
        scale = 0.99 * math.sqrt(eps / (1 - 0.99**2))
        assert remark.endswith(f"once its RMS is below {scale:.2e}."), (remark, scale)


def test_the_fit_takes_its_target_from_no_exercise() -> None:
    """A right RMSNorm may work in float32, which shows in the sixth digit, or take 160 GB for 200,000 features."""
    assert EXPERIMENTS["dyt-fit"].needs == ("elementwise",)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_banked_mistake_is_noticed(name: str) -> None:
    exercise, _, _ = MISTAKES[name].partition("/")
    assert exercise in EXPERIMENTS[name].needs
    file = EXERCISES[exercise].file
    texts = {other: (ROOT / "solutions" / other).read_text(encoding="utf-8") for other in exercise_files()}
    mistaken = (ROOT / "mistakes" / "rejected" / f"{MISTAKES[name]}.py").read_text(encoding="utf-8")
    # Files of rmsnorm and swiglu hold one class each: the other one stays the reference's.
    texts[file] = f"{texts[file]}\n\n{mistaken.replace('from __future__ import annotations', '')}"
    source = TextSource({**texts, **given(ROOT)})
    source.install()
    try:
        assert not run(EXPERIMENTS[name], source).agrees
    finally:
        source.uninstall()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_stub_is_told_what_the_experiment_needs(name: str) -> None:
    with pytest.raises(Unfinished, match=rf"^needs ({'|'.join(EXPERIMENTS[name].needs)}) \(to do: \w"):
        run(EXPERIMENTS[name], STUBS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_it_needs_what_it_says(name: str) -> None:
    """With the exercises it lists written and the others still stubs, it runs."""
    wanted = {EXERCISES[exercise].file for exercise in EXPERIMENTS[name].needs}
    texts = {
        file: (ROOT / ("solutions" if file in wanted else "exercises") / file).read_text(encoding="utf-8")
        for file in exercise_files()
    }
    source = TextSource({**texts, **given(ROOT)})
    source.install()
    try:
        assert run(EXPERIMENTS[name], source).agrees
    finally:
        source.uninstall()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_it_draws_a_figure(name: str, results: dict[str, Result]) -> None:
    figure = draw(results[name], "title")
    assert len(figure.axes) == len(results[name].panels) >= 1
    for axis in figure.axes:
        assert axis.lines or axis.patches
        assert axis.get_title()
        numbers = [value for line in axis.lines for value in line.get_ydata()]  # type: ignore[union-attr]
        assert all(math.isfinite(float(value)) for value in numbers)


def test_jacobians_circles_are_round_and_the_one_that_is_a_point_is_seen(results: dict[str, Result]) -> None:
    (axis,) = draw(results["jacobian"], "title").axes
    assert axis.get_aspect() == 1
    points = [line for line in axis.lines if len(set(zip(line.get_xdata(), line.get_ydata(), strict=True))) == 1]  # type: ignore[arg-type]
    assert [line.get_label() for line in points] == ["F(h) = -h"]
    assert points[0].get_marker() not in (None, "None", "")


@pytest.mark.parametrize("name", ["streams-mix", "two-streams", "decay", "sinkhorn", "forward-scale", "frozen-stack"])
def test_an_axis_that_counts_has_whole_ticks(name: str, results: dict[str, Result]) -> None:
    (axis,) = draw(results[name], "title").axes
    assert [tick for tick in axis.get_xticks() if tick != round(tick)] == []


def test_gelus_figure_shows_the_other_activations_too(results: dict[str, Result]) -> None:
    panel = results["gelu-gap"].panels[0]
    assert isinstance(panel, Panel)
    assert {"ReLU", "SiLU", "GELU"} < set(panel.curves)
    expected = {"ReLU": lambda z: max(0.0, z), "SiLU": lambda z: z / (1 + math.exp(-z))}
    for name, function in expected.items():
        assert all(y == pytest.approx(function(x), abs=1e-6) for x, y in zip(*panel.curves[name], strict=True))


def test_oss_mlp_scales_one_input() -> None:
    """Rows that differ by more than the scale would compare other inputs as well."""
    seen = []

    class Listening(Lab):
        def name(self, file: str, name: str) -> Any:
            function = super().name(file, name)
            if name != "swiglu_mlp":
                return function
            return lambda x, *rest: seen.append(x) or function(x, *rest)  # type: ignore[func-returns-value]

    EXPERIMENTS["oss-mlp"].run(Listening(REFERENCE))
    assert len(seen) == 3
    assert [abs(x / seen[0] - x.max() / seen[0].max()).max() < 1e-6 for x in seen] == [True] * 3


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_a_figure_is_the_same_bytes_again(suffix: str, tmp_path: Path, results: dict[str, Result]) -> None:
    paths = [tmp_path / f"{name}{suffix}" for name in ("one", "two")]
    for path in paths:
        save(results["epsilon"], "title", path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert len(first) > 1000


def test_numbers_agree_to_the_digits_that_are_printed() -> None:
    assert Number("", 0.0344, 0.034, 0.0005).agrees
    assert not Number("", 0.0346, 0.034, 0.0005).agrees
    assert not Number("", math.nan, 0.0, 1.0).agrees
    table = Table(("a",), (("1",),))
    assert not Result(tables=(table,), claims=(Claim("no", False),)).agrees
    assert not Result(tables=(table,), numbers=(Number("", 2, 1, 0),)).agrees


def test_an_exception_of_the_students_is_told_with_its_line() -> None:
    text = "def forward_scale(h0, weights, placement):\n    return None.missing\n"
    with pytest.raises(Unfinished, match=r"^AttributeError in block.py, line 2: .*missing"):
        _run_text("forward-scale", "block.py", text)


def test_a_result_that_cannot_be_used_leads_to_the_tests() -> None:
    text = "def forward_scale(h0, weights, placement):\n    return 1.0\n"
    with pytest.raises(Unfinished, match=r"^AttributeError: 'float' object .*`nanolm check placement`\)$"):
        _run_text("forward-scale", "block.py", text)


def test_a_missing_name_and_a_missing_file_are_told_apart() -> None:
    with pytest.raises(Unfinished, match=r"^exercises/block.py defines no forward_scale"):
        _run_text("forward-scale", "block.py", "x = 1\n")
    with pytest.raises(Unfinished, match=r"^needs placement: exercises/block.py is not there"):
        _run_text("forward-scale", "modules.py", "x = 1\n")


def _run_text(name: str, file: str, text: str) -> Result:
    source = TextSource({file: text})
    source.install()
    try:
        return run(EXPERIMENTS[name], source)
    finally:
        source.uninstall()


def test_no_experiment_computes_what_an_exercise_asks_for() -> None:
    answers = {
        "sigmoid", "logsigmoid", "silu", "tanh", "softplus", "erf", "rsqrt", "logsumexp", "softmax", "log_softmax",
        "rms_norm", "RMSNorm", "layer_norm", "LayerNorm", "normalize", "clamp", "clip", "minimum", "exp",
    }  # fmt: skip
    for path in (ROOT / "nanolm" / "experiments").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                assert node.attr not in answers, f"{path.name} line {node.lineno}: {node.attr}"


# --- the command -----------------------------------------------------------------------------------------------------


def command(*arguments: str, where: Path = ROOT, impl: str = "solutions") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NANOLM_IMPL": impl}
    return subprocess.run(
        [str(NANOLM), "experiment", *arguments],
        cwd=where, env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip


def test_the_command_prints_the_table_and_draws(tmp_path: Path) -> None:
    done = command("ledger", "--plot", str(tmp_path / "ledger.svg"))
    assert done.returncode == 0, done.stderr
    assert "by solutions/" in done.stdout
    assert "8,030,261,248" in done.stdout
    assert (tmp_path / "ledger.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_without_a_name_it_lists_all() -> None:
    done = command()
    assert done.returncode == 0
    for experiment in EXPERIMENTS.values():
        assert f"{experiment.name} " in done.stdout


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{NANOLM} experiment | true; echo ${{PIPESTATUS[0]}}"],
        cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.strip() in ("141", "0")


def test_on_stubs_it_says_what_it_needs_and_draws_nothing(tmp_path: Path) -> None:
    done = command("sinkhorn", "--plot", str(tmp_path / "a.png"), impl="exercises")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("sinkhorn on exercises/: needs mhc (to do: ")
    assert not (tmp_path / "a.png").exists()


def test_a_wrong_number_is_marked_and_leads_to_the_tests(tmp_path: Path) -> None:
    course = tmp_path / "course"
    for folder in ("exercises", "tests", "nanolm"):
        shutil.copytree(ROOT / folder, course / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "mistakes" / "rejected" / f"{MISTAKES['ledger']}.py", course / "exercises" / "budget.py")
    done = command("ledger", where=course, impl="exercises")
    assert done.returncode == 1, done.stderr
    assert "differs" in done.stdout
    assert "nanolm check budget" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("gelu",), "there is no experiment 'gelu': there are epsilon,"),
        (("\x1b[31mred",), "there is no experiment '\\\\x1b[31mred'"),
        (("ledger", "--plot", "ledger.txt"), "must end in one of .pdf, .png, .svg"),
        (("ledger", "--plot", "missing/ledger.png"), "there is no folder"),
        (("--plot", "ledger.png"), "--plot needs the NAME"),
    ],
)
def test_wrong_usage_is_told_before_anything_runs(arguments: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_outside_a_course_and_with_an_unknown_implementation(tmp_path: Path) -> None:
    done = command("ledger", where=tmp_path)
    assert done.returncode == 2
    assert "there is no course here or above" in done.stderr
    done = command("ledger", impl="mine")
    assert done.returncode == 2
    assert "NANOLM_IMPL='mine' names no implementation here" in done.stderr


def test_an_experiment_is_registered_under_its_functions_name() -> None:
    for name, experiment in EXPERIMENTS.items():
        assert isinstance(experiment, Experiment)
        assert name == experiment.name
        assert set(experiment.needs) <= set(EXERCISES)
