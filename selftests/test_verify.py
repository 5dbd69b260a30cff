"""The kill matrix judged on matrices built by hand: every kind of hole is reported, and a sound one is silent."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from grader.bank import BankError, Kind, Specimen, combine, read_bank, texts_with
from grader.demo import BOTH, MISTAKES, PAIRS, DemoError, build_class
from grader.results import SubmissionResult
from grader.session import Settings
from grader.verify import REFERENCE, STUB, Matrix, judge, legend, margins, matrix_table, totals
from nanolm.course import EXERCISES, exercise_files
from nanolm.protocol import Outcome
from nanolm.texts import catalogue
from nanolm.verdict import NamedMistake, Verdict

ROOT = Path(__file__).resolve().parent.parent
NANOLM = Path(sys.executable).with_name("nanolm")
SETTINGS = Settings(ROOT, exercises=("swiglu",))
FULL = EXERCISES["swiglu"].points

CURVE, MAPS = "tests/test_modules.py::test_curve", "tests/test_modules.py::test_maps"
CATCHES = {CURVE: ("swiglu-relu-gate", "swiglu-gelu-gate"), MAPS: ("swiglu-biased-linear",)}
POINTS = {CURVE: FULL - 2, MAPS: 2.0}


def specimen(kind: Kind, label: str) -> Specimen:
    return Specimen(kind, "swiglu", label, "", "says what it does")


BANK = [
    specimen("rejected", "relu-gate"),
    specimen("rejected", "gelu-gate__tanh"),
    specimen("rejected", "biased-linear"),
    specimen("pairs", "relu-gate+biased-linear"),
    specimen("accepted", "einsum"),
]


def verdict(test: str, outcome: Outcome, *mistakes: str, closeness: float | None = None) -> Verdict:
    named = tuple(NamedMistake(f"swiglu-{name}", "output", "equal numbers") for name in mistakes)
    score = POINTS[test] if outcome is Outcome.PASSED else 0.0
    message = "" if outcome is Outcome.PASSED else "words of the test"
    return Verdict(
        test, "swiglu", outcome, score, POINTS[test], message, named, catches=CATCHES[test], closeness=closeness
    )


def result(name: str, curve: Verdict | None = None, maps: Verdict | None = None, **more: Any) -> SubmissionResult:
    passed = (verdict(CURVE, Outcome.PASSED, closeness=0.1), verdict(MAPS, Outcome.PASSED))
    return SubmissionResult(name, (curve or passed[0], maps or passed[1]), FULL, **more)


def curve_fails(*mistakes: str, closeness: float | None = 50.0) -> Verdict:
    return verdict(CURVE, Outcome.WRONG_VALUE, *mistakes, closeness=closeness)


def maps_fail(*mistakes: str) -> Verdict:
    return verdict(MAPS, Outcome.WRONG_INTERFACE, *mistakes)


RELU, GELU, BIASED, PAIR, EINSUM = (member.name for member in BANK)


@pytest.fixture(autouse=True)
def small_catalogue(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A catalogue that knows the three mistakes of the small bank, and one of another exercise."""
    texts: dict[str, Any] = {
        f"{name}": {"title": "t", "question": "q?", "section": "s"}
        for name in ("swiglu-relu-gate", "swiglu-gelu-gate", "swiglu-biased-linear", "rmsnorm-centering")
    }
    monkeypatch.setattr("grader.verify.catalogue", lambda: {"mistakes": texts})
    return texts


def matrix(*others: SubmissionResult, bank: list[Specimen] = BANK) -> Matrix:
    """A sound matrix, except for the results that are given."""
    untouched = (verdict(CURVE, Outcome.NOT_ATTEMPTED), verdict(MAPS, Outcome.NOT_ATTEMPTED))
    sound = [
        result(RELU, curve_fails("relu-gate")),
        result(GELU, curve_fails("gelu-gate", closeness=3.0)),
        result(BIASED, maps=maps_fail("biased-linear")),
        result(PAIR, curve_fails("relu-gate", "biased-linear"), maps_fail("relu-gate", "biased-linear")),
        result(EINSUM, verdict(CURVE, Outcome.PASSED, closeness=0.4)),
        result(STUB, *untouched),
        result(REFERENCE),
    ]
    return Matrix(bank, {one.name: one for one in (*sound, *others)})


def problems(*others: SubmissionResult, bank: list[Specimen] = BANK) -> list[str]:
    return judge(matrix(*others, bank=bank), SETTINGS)


def test_a_sound_matrix_has_no_problem() -> None:
    assert problems() == []


def test_gpu_tests_that_do_not_run_here_are_no_problem() -> None:
    skipped = verdict(MAPS, Outcome.NOT_RUN_HERE)
    assert problems(result(EINSUM, maps=skipped), result(REFERENCE, maps=skipped)) == []


HOLES: dict[str, tuple[SubmissionResult, str]] = {
    "a mistake survives its named test": (
        result(RELU, maps=maps_fail("relu-gate")),
        f"{RELU} survives {CURVE}, which claims to catch swiglu-relu-gate",
    ),
    "a pair survives a test that names one of the two": (
        result(PAIR, curve_fails("relu-gate")),
        f"{PAIR} survives {MAPS}, which claims to catch swiglu-biased-linear",
    ),
    "no diagnosis": (result(GELU, curve_fails()), f"{GELU}: the diagnosis says nothing"),
    "another diagnosis": (
        result(GELU, curve_fails("relu-gate")),
        f"{GELU}: the diagnosis says ['swiglu-relu-gate']",
    ),
    "the right diagnosis in the second place": (
        result(GELU, curve_fails("relu-gate", "gelu-gate")),
        f"{GELU}: the diagnosis says ['swiglu-relu-gate', 'swiglu-gelu-gate']",
    ),
    "a name too many": (
        result(GELU, curve_fails("gelu-gate", "relu-gate")),
        f"{GELU}: beside it the diagnosis also says ['swiglu-relu-gate']",
    ),
    "a third name for a pair": (
        result(PAIR, curve_fails("relu-gate", "gelu-gate"), maps_fail()),
        f"{PAIR}: beside it the diagnosis also says ['swiglu-gelu-gate']",
    ),
    "a pair without a name": (result(PAIR, curve_fails(), maps_fail()), f"{PAIR}: the diagnosis says nothing"),
    "a right answer loses a mark": (
        result(EINSUM, maps=maps_fail()),
        f"{EINSUM} is a right answer but {MAPS} says wrong_interface: words of the test",
    ),
    "the stub earns": (
        result(STUB, verdict(CURVE, Outcome.NOT_ATTEMPTED)),
        f"the stub is passed under {MAPS} and earns 2.0",
    ),
    "the stub fails instead of not being attempted": (
        result(STUB, maps_fail(), verdict(MAPS, Outcome.NOT_ATTEMPTED)),
        f"the stub is wrong_interface under {MAPS} and earns 0.0",
    ),
    "the reference misses": (result(REFERENCE, curve_fails()), f"the reference fails {CURVE}: words of the test"),
    "the points do not add up": (
        SubmissionResult(REFERENCE, (verdict(CURVE, Outcome.PASSED),), FULL),
        f"the tests of swiglu add up to {FULL - 2} points, not {FULL}",
    ),
    "a test kills nothing": (
        result(BIASED, curve_fails("biased-linear")),
        f"{MAPS} kills nothing",
    ),
    "a test claims an unknown mistake": (
        result(REFERENCE, replace(verdict(CURVE, Outcome.PASSED), catches=(*CATCHES[CURVE], "swiglu-typo"))),
        f"{CURVE} claims to catch swiglu-typo, which is not in the bank",
    ),
    "a specimen could not be graded": (
        SubmissionResult(GELU, (), FULL, ungradable="the worker died"),
        f"{GELU} could not be graded: the worker died",
    ),
    "the stub could not be graded": (
        SubmissionResult(STUB, (), FULL, ungradable="the worker died"),
        "the stub could not be graded: the worker died",
    ),
    "the reference could not be graded": (
        SubmissionResult(REFERENCE, (), FULL, ungradable="the worker died"),
        "the reference could not be graded: the worker died",
    ),
}


@pytest.mark.parametrize("hole", HOLES)
def test_every_kind_of_hole_is_reported(hole: str) -> None:
    broken, words = HOLES[hole]
    assert words in problems(broken)


def test_a_mistake_that_no_test_names_is_reported() -> None:
    silent = {CURVE: ("swiglu-relu-gate",), MAPS: CATCHES[MAPS]}
    broken = [
        replace(one, verdicts=tuple(replace(v, catches=silent[v.test]) for v in one.verdicts))
        for one in matrix().results.values()
    ]
    assert problems(*broken) == [f"{GELU}: no test names swiglu-gelu-gate"]


def test_a_mistake_without_a_text_and_a_text_without_a_mistake_are_reported(small_catalogue: dict[str, Any]) -> None:
    del small_catalogue["swiglu-biased-linear"]
    small_catalogue["swiglu-forgotten"] = {}
    assert problems() == [
        "swiglu-biased-linear has no text in the catalogue",
        "swiglu-forgotten has a text but no file in the bank",
    ]


def test_accepted_variants_and_pairs_kill_for_no_test() -> None:
    bank = [member for member in BANK if member.name != BIASED]
    assert f"{MAPS} kills nothing" in problems(bank=bank)


def test_the_table_tells_named_kills_from_others() -> None:
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    whole = matrix(result(RELU, curve_fails("relu-gate"), maps_fail("relu-gate")))
    console.print(matrix_table(whole, "swiglu"))
    rows = [line for line in console.export_text().splitlines() if "/2" in line]
    assert [row.split() for row in rows] == [
        ["│relu-gate", "│", "■", "│", "□", "│", "2/2│"],
        ["│gelu-gate__tanh", "│", "■", "│", "·", "│", "1/2│"],
        ["│biased-linear", "│", "·", "│", "■", "│", "1/2│"],
        ["│relu-gate+biased-linear", "│", "■", "│", "■", "│", "2/2│"],
    ]
    assert legend(whole, "swiglu") == ["   1  test_curve", "   2  test_maps"]
    assert totals(whole) == (
        "3 mistakes (3 ids), 1 pairs (both named in 1), 1 accepted variants; 4 kills in 6 cells; 0 problems"
    )


def test_margins_show_the_tightest_test_first() -> None:
    (row,) = margins(matrix())
    # The largest share that a right answer uses, and the nearest mistake beyond the bound; MAPS compares no numbers.
    assert row == ("test_curve", 0.4, 3.0, "gelu-gate__tanh")
    second = replace(verdict(CURVE, Outcome.PASSED, closeness=0.9), test="tests/test_modules.py::test_tight")
    beyond = replace(curve_fails("relu-gate", closeness=1.5), test=second.test)
    whole = matrix()
    for name, extra in ((REFERENCE, second), (EINSUM, second), (RELU, beyond)):
        whole.results[name] = replace(whole.results[name], verdicts=(*whole.results[name].verdicts, extra))
    assert [row[0] for row in margins(whole)] == ["test_tight", "test_curve"]
    assert margins(whole)[0] == ("test_tight", 0.9, 1.5, "relu-gate")
    # A mistake within the tolerance, one whose test fails for another reason: no margin at all.
    assert margins(matrix(result(GELU, curve_fails(closeness=0.9)), result(RELU, curve_fails(closeness=None)))) == []


# --- combining the bank's files --------------------------------------------------------------------------------------

SOLUTION = '"""Doc."""\n\nfrom __future__ import annotations\n\n\nclass A:\n    x = 1\n\n\nclass B:\n    x = 2\n'


def bank_file(text: str) -> Specimen:
    return replace(specimen("rejected", "relu-gate"), text=text)


def values(text: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "combined"}
    exec(compile(text, "combined", "exec", dont_inherit=True), namespace)
    return namespace


def test_combine_puts_the_banks_class_in_place_of_the_solutions() -> None:
    theirs = bank_file('"""Says what it does."""\n\nFACTOR = 3\n\n\nclass B:\n    x = FACTOR\n')
    text = combine(SOLUTION, theirs)
    namespace = values(text)
    assert (namespace["A"].x, namespace["B"].x) == (1, 3)
    assert text.count("class B") == 1
    assert "x = 2" not in text
    both = values(combine(SOLUTION, theirs, bank_file("class A:\n    x = 4\n")))
    assert (both["A"].x, both["B"].x) == (4, 3)


def test_combine_removes_a_class_with_its_decorators() -> None:
    solution = SOLUTION.replace("class B", "@dict.fromkeys\nclass B").replace("    x = 2", "    y = 2")
    assert "fromkeys" not in combine(solution, bank_file("class B:\n    x = 3\n"))


def test_every_specimen_of_the_demo_compiles() -> None:
    bank = {f"{member.kind}/{member.exercise}/{member.label}": member for member in read_bank(ROOT)}
    chosen = [[f"rejected/{name}"] for name in MISTAKES] + [[f"pairs/{name}"] for name in PAIRS]
    chosen += [[f"rejected/{one}", f"rejected/{other}"] for one, other in BOTH]
    chosen += [[name] for name in bank if name.startswith("accepted/")]
    assert len(chosen) > 100
    for names in chosen:
        texts = texts_with(ROOT, *(bank[name] for name in names))
        assert set(texts) == set(exercise_files())
        classes = [node.name for node in ast.parse(texts["modules.py"]).body if isinstance(node, ast.ClassDef)]
        assert classes.count("RMSNorm") == classes.count("SwiGLU") == 1, names
        for name, text in texts.items():
            compile(text, name, "exec", dont_inherit=True)


def test_a_specimen_takes_the_place_of_its_own_exercise_only() -> None:
    bank = {f"{member.kind}/{member.exercise}/{member.label}": member for member in read_bank(ROOT)}
    right = texts_with(ROOT)
    texts = texts_with(ROOT, bank["rejected/budget/round-down"], bank["rejected/rmsnorm/centering"])
    assert texts["budget.py"] == bank["rejected/budget/round-down"].text
    assert texts["modules.py"] != right["modules.py"]
    assert texts["qk_norm.py"] == right["qk_norm.py"]


def test_the_demo_builds_its_class_again_but_touches_no_folder_of_others(tmp_path: Path) -> None:
    into = tmp_path / "demo"
    count = build_class(ROOT, into)
    made = sorted(path.name for path in (into / "class").iterdir())
    assert len(made) == count >= 60
    (into / "class" / made[0] / "left-over.txt").touch()
    assert build_class(ROOT, into) == count
    assert sorted(path.name for path in (into / "class").iterdir()) == made
    assert not (into / "class" / made[0] / "left-over.txt").exists()
    theirs = tmp_path / "theirs"
    (theirs / "class").mkdir(parents=True)
    with pytest.raises(DemoError, match="was not made by the demo"):
        build_class(ROOT, theirs)
    assert list((theirs / "class").iterdir()) == []


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("rejected/attention/x.py", '"""Doc."""', "there is no exercise 'attention'"),
        ("rejected/swiglu/x.py", "x = 1", "begins with a docstring"),
    ],
)
def test_a_file_of_the_bank_in_the_wrong_place_is_an_error(tmp_path: Path, path: str, text: str, words: str) -> None:
    file = tmp_path / "mistakes" / path
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BankError, match=words):
        read_bank(tmp_path)


def test_labels_say_which_mistakes_are_in_a_file() -> None:
    ids: Callable[[Kind, str], tuple[str, ...]] = lambda kind, label: specimen(kind, label).mistakes  # noqa: E731
    assert ids("rejected", "gelu-gate__tanh") == ("swiglu-gelu-gate",)
    assert ids("pairs", "relu-gate+biased-linear") == ("swiglu-relu-gate", "swiglu-biased-linear")
    assert ids("accepted", "einsum") == ()


# --- the real thing --------------------------------------------------------------------------------------------------


def test_the_banks_mistakes_have_texts() -> None:
    known = set(catalogue()["mistakes"])
    assert {mistake for member in read_bank(ROOT) for mistake in member.mistakes} <= known


def test_the_bank_stands_the_inputs_of_another_round() -> None:
    done = subprocess.run(
        [str(NANOLM), "verify", "-q", "--exercise", "swiglu", "--round", "other"],
        cwd=ROOT, capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "; 0 problems; " in done.stdout
    assert len(done.stdout.splitlines()) == 1
