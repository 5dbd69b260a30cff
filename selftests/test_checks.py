"""Each check helper of the graded tests, failing and passing: outcome, words, numbers, and what a failure implies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from nanolm import checks
from nanolm.checks import CheckFailure, Closeness, closeness
from nanolm.protocol import Outcome, StudentFault
from nanolm.texts import text

NAN, INF = float("nan"), float("inf")
ROW = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def failure(check: Callable[[], None]) -> CheckFailure:
    """The failure that a check raises; the assertion that it raises one."""
    with pytest.raises(CheckFailure) as caught:
        check()
    return caught.value


def words(reason: str, count: int, total: int) -> str:
    """The headline of a comparison that failed in `count` places."""
    return text("checks", "close", reason=reason, count=count, total=total)


def numbers(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


# ── CheckFailure and values ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_failure_is_an_assertion_whose_text_has_the_numbers_below_the_headline() -> None:
    raised = CheckFailure(Outcome.WRONG_VALUE, "a headline", "a number", "rmsnorm-centering")
    assert isinstance(raised, AssertionError)
    assert str(raised) == "a headline\na number"
    assert str(CheckFailure(Outcome.WRONG_VALUE, "a headline")) == "a headline"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool])
def test_values_are_float64_whatever_the_dtype_and_carry_no_graph(dtype: torch.dtype) -> None:
    got = checks.values(torch.ones(2, 3, dtype=dtype))
    assert got.dtype == np.float64
    assert got.shape == (2, 3)
    assert checks.values(torch.ones(2, requires_grad=True) * 2).tolist() == [2.0, 2.0]


# ── shape, dtype, finite, require ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("actual", "expected"), [((2, 3), (3, 2)), ((), (1,)), ((1,), ()), ((2, 3), (2, 3, 1)), ((0,), (0, 0))]
)
def test_shape_fails_with_both_shapes_and_what_it_implies(actual: tuple[int, ...], expected: tuple[int, ...]) -> None:
    raised = failure(lambda: checks.shape(torch.zeros(actual), expected, of="f(x)", implies="swiglu-missing-down"))
    assert raised.outcome is Outcome.WRONG_SHAPE
    assert raised.headline == text("checks", "shape", of="f(x)", got=list(actual), expected=list(expected))
    assert (raised.numbers, raised.implies) == ("", "swiglu-missing-down")


@pytest.mark.parametrize("expected", [(2, 3), [2, 3], torch.Size([2, 3])])
def test_shape_passes_for_any_sequence(expected: tuple[int, ...]) -> None:
    checks.shape(ROW, expected, of="f(x)")
    checks.shape(torch.tensor(1.0), (), of="f(x)")


def test_dtype_fails_with_the_short_names() -> None:
    raised = failure(lambda: checks.dtype(ROW, torch.bfloat16, of="f(x)", implies="rmsnorm-wrong-dtype"))
    assert raised.outcome is Outcome.WRONG_DTYPE
    assert raised.headline == text("checks", "dtype", of="f(x)", got="float32", expected="bfloat16")
    assert raised.implies == "rmsnorm-wrong-dtype"
    checks.dtype(ROW, torch.float32, of="f(x)")


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_finite_counts_the_bad_places_and_names_the_first(bad: float) -> None:
    x = ROW.clone()
    x[0, 2] = x[1, 1] = bad
    raised = failure(lambda: checks.finite(x, of="f(x)", implies="swiglu-overflowing-sigmoid"))
    assert raised.outcome is Outcome.NOT_FINITE
    assert raised.headline == text("checks", "finite", of="f(x)", count=2, total=6)
    assert raised.numbers == text("checks", "finite_numbers", where="[0, 2]", got=f"{bad:g}")
    assert raised.implies == "swiglu-overflowing-sigmoid"


def test_finite_of_a_0d_an_empty_and_an_integer_tensor() -> None:
    raised = failure(lambda: checks.finite(torch.tensor(NAN), of="f(x)"))
    assert raised.headline == text("checks", "finite", of="f(x)", count=1, total=1)
    assert raised.numbers == text("checks", "finite_numbers", where="its value", got="nan")
    assert raised.implies is None
    for fine in (torch.tensor(1.0), torch.zeros(0), torch.ones(2, dtype=torch.int64), ROW):
        checks.finite(fine, of="f(x)")


def test_require_fails_with_just_what_it_was_given() -> None:
    raised = failure(
        lambda: checks.require(
            False, "words", outcome=Outcome.WRONG_INTERFACE, numbers="7", implies="rmsnorm-extra-bias"
        )
    )
    assert (raised.outcome, raised.headline, raised.numbers) == (Outcome.WRONG_INTERFACE, "words", "7")
    assert raised.implies == "rmsnorm-extra-bias"
    checks.require(True, "words", outcome=Outcome.WRONG_INTERFACE)


# ── close ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def close(actual: Tensor, expected: object, *, rtol: float = 0.0, atol: float = 0.0) -> None:
    checks.close(actual, np.asarray(expected, dtype=np.float64), rtol=rtol, atol=atol, of="f(x)")


def test_close_names_the_worst_place_with_the_row_around_it() -> None:
    actual = ROW.clone()
    actual[0, 0], actual[1, 2] = 1.5, 9.0
    raised = failure(lambda: close(actual, ROW, rtol=1e-3))
    assert raised.outcome is Outcome.WRONG_VALUE
    assert raised.headline == words(text("checks", "differs", of="f(x)"), 2, 6)
    assert raised.numbers.splitlines() == [
        "most at [1, 2]: got 9, expected 6",
        "  got      [4 5 9]",
        "  expected [4 5 6]",
    ]
    assert raised.implies is None


def test_the_worst_place_is_where_the_bound_is_exceeded_most_not_where_the_difference_is_largest() -> None:
    # 1000 may be off by 100, 0 by nothing: the larger difference lies at 1000, the excess at 0.
    raised = failure(lambda: close(numbers(1101.0, 50.0), [1000.0, 0.0], rtol=0.1))
    assert raised.numbers.startswith("most at [1]: got 50, expected 0")
    raised = failure(lambda: close(numbers(1090.0, 50.0), [1000.0, 0.0], rtol=0.1))
    assert "1 of 2" in raised.headline


def test_close_takes_other_words_another_outcome_and_an_implied_mistake() -> None:
    raised = failure(
        lambda: checks.close(
            ROW, ROW + 1, rtol=0, atol=0.5, of="f(x)", what="it leaks", implies="a-b", outcome=Outcome.WRONG_GRADIENT
        )
    )
    assert raised.outcome is Outcome.WRONG_GRADIENT
    assert raised.headline == words("it leaks", 6, 6)
    assert raised.implies == "a-b"


def test_close_looks_at_the_shape_and_at_nan_first() -> None:
    assert failure(lambda: close(ROW, ROW[0])).outcome is Outcome.WRONG_SHAPE
    assert failure(lambda: close(ROW[:1], ROW[0])).outcome is Outcome.WRONG_SHAPE  # nothing is broadcast
    assert failure(lambda: close(ROW * NAN, ROW, atol=INF)).outcome is Outcome.NOT_FINITE


def test_close_of_0d_and_empty_values() -> None:
    raised = failure(lambda: close(torch.tensor(2.0), 1.0))
    assert raised.numbers.splitlines() == ["most at its value: got 2, expected 1", "  got      2", "  expected 1"]
    close(torch.tensor(2.0), 2.0)
    close(torch.zeros(0, 3), np.zeros((0, 3)))


def test_an_expected_infinity_must_come_back_as_itself() -> None:
    for rtol in (0.0, 0.1):
        close(numbers(INF, -INF, 1.0), [INF, -INF, 1.0], rtol=rtol)
        for wrong in (numbers(-INF, -INF, 1.0), numbers(7.0, -INF, 1.0), numbers(NAN, -INF, 1.0)):
            raised = failure(lambda wrong=wrong, rtol=rtol: close(wrong, [INF, -INF, 1.0], rtol=rtol))
            assert "1 of 3" in raised.headline
            assert raised.numbers.startswith("most at [0]: ")


def test_an_expected_nan_passes_nothing() -> None:
    for got in (1.0, NAN, INF):
        assert failure(lambda got=got: close(numbers(got), [NAN], atol=INF)).outcome is Outcome.WRONG_VALUE


def test_a_long_row_is_cut_on_both_sides_around_the_place() -> None:
    expected = np.arange(20.0)
    shown = {}
    for index in (0, 10, 19):
        actual = torch.from_numpy(expected.copy())
        actual[index] += 100
        shown[index] = failure(lambda actual=actual: close(actual, expected)).numbers.splitlines()[2].strip()
    assert shown[0] == "expected [0 1 2 3 4 5 …]"
    assert shown[10] == "expected [… 7 8 9 10 11 12 …]"
    assert shown[19] == "expected [… 14 15 16 17 18 19]"


NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, 0.3, 1e-9, 1e9, -2.5]) | st.floats(-1e12, 1e12)
BOUNDS = st.sampled_from([0.0, 1e-9, 1e-3, 0.5, 1.0])


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=5), BOUNDS, BOUNDS, st.booleans())
@example([(1.0, 1.0)], 0.0, 0.0, False)
@example([(0.0, -0.0)], 0.0, 0.0, False)
@example([(1.5, 1.0)], 0.5, 0.0, False)
@example([(1.5, 1.0)], 0.0, 0.5, False)
@example([(2.0, 1.0)], 0.5, 0.5, False)
@example([(2.0000000000000004, 1.0)], 0.5, 0.5, False)
@example([(1.0, 1.0), (3.0, 2.0)], 0.0, 0.0, False)
def test_close_fails_exactly_where_the_bound_is_exceeded(
    pairs: list[tuple[float, float]], rtol: float, atol: float, near: bool
) -> None:
    expected = np.array([wanted for _, wanted in pairs])
    offsets = np.array([0.999, 1.001, 0.5, -0.999, -1.001])[: len(pairs)]
    got = expected + offsets * (atol + rtol * np.abs(expected)) if near else np.array([value for value, _ in pairs])
    inside = np.isclose(got, expected, rtol=rtol, atol=atol)
    closeness.reset()
    if inside.all():
        close(torch.from_numpy(got), expected, rtol=rtol, atol=atol)
        assert closeness.worst is not None
        assert closeness.worst <= 1 + 1e-12
    else:
        raised = failure(lambda: close(torch.from_numpy(got), expected, rtol=rtol, atol=atol))
        assert f"{(~inside).sum()} of {len(pairs)}" in raised.headline
        assert closeness.worst is not None
        assert closeness.worst >= 1


# ── within_ulps ──────────────────────────────────────────────────────────────────────────────────────────────────────


def ulps(actual: Tensor, expected: object, allowed: float = 1.0) -> None:
    checks.within_ulps(actual, np.asarray(expected, dtype=np.float64), bits=7, ulps=allowed, of="f(x)")


@pytest.mark.parametrize("size", [2.0**-100, 1.0, 3.0, 2.0**20])
def test_units_in_the_last_place_are_those_of_the_expected_value(size: float) -> None:
    unit = 2.0 ** (np.floor(np.log2(size)) - 7)
    ulps(numbers(size + unit, -size - unit), [size, -size])
    raised = failure(lambda: ulps(numbers(size, size + 1.5 * unit), [size, size]))
    assert raised.outcome is Outcome.WRONG_VALUE
    assert raised.headline == (text("checks", "ulps", of="f(x)", worst="1.50", allowed="1"))
    assert raised.numbers.startswith("most at [1]: got ")


def test_rounding_once_costs_half_a_unit_of_bfloat16() -> None:
    exact = torch.linspace(0.1, 9.7, 997, dtype=torch.float64)
    closeness.reset()
    ulps(exact.to(torch.bfloat16), exact, 0.5)
    assert closeness.worst == pytest.approx(1.0, abs=0.02)


def test_ulps_look_at_shape_and_nan_first_and_pass_nothing_against_a_broken_reference() -> None:
    assert failure(lambda: ulps(ROW, ROW[0])).outcome is Outcome.WRONG_SHAPE
    assert failure(lambda: ulps(numbers(NAN), [1.0])).outcome is Outcome.NOT_FINITE
    for broken in (NAN, INF):
        raised = failure(lambda broken=broken: ulps(numbers(1.0, 1.0), [1.0, broken]))
        assert raised.numbers.startswith("most at [1]")
    assert failure(lambda: ulps(torch.tensor(2.0), 1.0)).numbers.startswith("most at its value")
    assert failure(lambda: ulps(numbers(1e-30), [0.0])).outcome is Outcome.WRONG_VALUE
    ulps(numbers(0.0), [0.0])
    ulps(torch.zeros(0), np.zeros(0))


# ── gradient ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def gradient(gradients: dict[str, Tensor], implies_not_finite: str | None = None) -> None:
    checks.gradient(gradients, "x", np.ones(2), rtol=0, atol=0.1, of="f(x)", implies_not_finite=implies_not_finite)


def test_a_gradient_that_is_absent_not_finite_wrong_or_right() -> None:
    raised = failure(lambda: gradient({"gamma": numbers(1, 1)}))
    assert (raised.outcome, raised.headline) == (
        Outcome.WRONG_GRADIENT,
        text("checks", "unreached", of="f(x)", name="x"),
    )
    raised = failure(lambda: gradient({"x": numbers(1, NAN)}, "swiglu-overflowing-sigmoid"))
    assert raised.outcome is Outcome.NOT_FINITE
    assert raised.headline == text("checks", "gradient_not_finite", of="f(x)", name="x")
    assert raised.implies == "swiglu-overflowing-sigmoid"
    raised = failure(lambda: gradient({"x": numbers(1, 1.2)}, "swiglu-overflowing-sigmoid"))
    assert raised.outcome is Outcome.WRONG_GRADIENT
    assert raised.headline == ("the gradient of f(x) with respect to x differs from the closed form, in 1 of 2 places.")
    assert raised.implies is None
    assert failure(lambda: gradient({"x": numbers(1)})).outcome is Outcome.WRONG_SHAPE
    gradient({"x": numbers(1, 1.05)})


# ── unchanged ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_changed_argument_is_counted_and_shown() -> None:
    after = ROW.clone()
    after[1] *= 2
    raised = failure(lambda: checks.unchanged(after, ROW, of="f(x)", name="x", implies="rmsnorm-in-place"))
    assert raised.outcome is Outcome.INPUT_MUTATED
    assert raised.headline == text("checks", "unchanged", of="f(x)", name="x", count=3)
    assert raised.numbers == text("checks", "unchanged_numbers", where="[1, 0]", before="4", after="8")
    assert raised.implies == "rmsnorm-in-place"


@pytest.mark.parametrize("reshaped", [ROW.T, ROW[None], ROW.reshape(-1), ROW[:1].expand(2, 3)[:1]])
def test_an_argument_whose_shape_was_changed_is_mutated_too(reshaped: Tensor) -> None:
    raised = failure(lambda: checks.unchanged(reshaped, ROW, of="f(x)", name="x"))
    assert raised.outcome is Outcome.INPUT_MUTATED
    assert f"from [2, 3] to {list(reshaped.shape)}" in raised.headline


def test_nan_that_stays_is_unchanged_and_nan_that_comes_is_not() -> None:
    checks.unchanged(numbers(NAN, 1), numbers(NAN, 1), of="f(x)", name="x")
    checks.unchanged(torch.tensor(1.0), torch.tensor(1.0), of="f(x)", name="x")
    for after, before in (((NAN, 1), (1, 1)), ((1, 1), (NAN, 1))):
        raised = failure(
            lambda after=after, before=before: checks.unchanged(numbers(*after), numbers(*before), of="f(x)", name="x")
        )
        assert raised.numbers.startswith("first at [0]")


# ── equal and raises ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("actual", "expected", "shown"),
    [
        (7, 8, ("7", "8")),
        (True, 1, ("True", "1")),
        (8.0, 8, ("8.0", "8")),
        (None, 8, ("None", "8")),
        (1234567, 999, ("1_234_567", "999")),
        (10**5000, -(10**40), ("an integer of 16610 bits", "an integer of 133 bits")),
        ("a\x1b[31m", 1, (r"'a\x1b[31m'", "1")),
    ],
    ids=range(7),
)
def test_equal_tells_types_and_values_apart(actual: object, expected: object, shown: tuple[str, str]) -> None:
    raised = failure(lambda: checks.equal(actual, expected, of="f(x)", implies="budget-round-down"))
    assert (raised.outcome, raised.implies) == (Outcome.WRONG_VALUE, "budget-round-down")
    assert raised.headline == text("checks", "equal", of="f(x)")
    assert raised.numbers == text("checks", "equal_numbers", got=shown[0], expected=shown[1])
    assert "\x1b" not in raised.numbers
    checks.equal(actual, actual, of="f(x)")


def raising(fault: StudentFault | None) -> None:
    """A check that a call raises a ValueError, where the call ends in this fault."""

    def attempt() -> None:
        if fault is not None:
            raise fault

    checks.raises(attempt, "ValueError", of="f(-1)", implies="budget-missing-validation")


def test_raises_passes_for_the_class_and_its_subclasses_only() -> None:
    raising(StudentFault(Outcome.EXCEPTION, "no", kind="ValueError", bases=("ValueError", "Exception", "object")))
    raising(StudentFault(Outcome.EXCEPTION, "no", kind="Own", bases=("Own", "ValueError", "Exception", "object")))
    raised = failure(lambda: raising(None))
    assert (raised.outcome, raised.implies) == (Outcome.WRONG_ERROR, "budget-missing-validation")
    assert raised.headline == text("checks", "no_error", of="f(-1)", expected="ValueError")
    other = StudentFault(Outcome.EXCEPTION, "why\x1b", kind="Type\x07Error", bases=("TypeError", "Exception"))
    raised = failure(lambda: raising(other))
    assert (raised.outcome, raised.implies) == (Outcome.WRONG_ERROR, None)
    assert raised.headline == text("checks", "wrong_error", of="f(-1)", got=r"Type\x07Error", expected="ValueError")
    assert raised.numbers == r"why\x1b"


@pytest.mark.parametrize("outcome", [Outcome.NOT_ATTEMPTED, Outcome.WRONG_INTERFACE, Outcome.TIMEOUT])
def test_raises_leaves_other_faults_as_they_are(outcome: Outcome) -> None:
    with pytest.raises(StudentFault) as caught:
        raising(StudentFault(outcome, "words", bases=("ValueError",)))
    assert caught.value.outcome is outcome


# ── the record of closeness ──────────────────────────────────────────────────────────────────────────────────────────


def test_closeness_keeps_the_worst_share_until_it_is_reset() -> None:
    record = Closeness()
    assert record.worst is None
    for share, worst in ((0.2, 0.2), (0.7, 0.7), (0.1, 0.7), (NAN, INF)):
        record.note(share)
        assert record.worst == worst
    record.reset()
    assert record.worst is None


def test_comparisons_note_how_much_of_the_bound_they_used() -> None:
    closeness.reset()
    close(numbers(1.25), [1.0], atol=0.5)
    assert closeness.worst == pytest.approx(0.5)
    failure(lambda: close(numbers(3.0), [1.0], atol=0.5))
    assert closeness.worst == pytest.approx(4.0)
    closeness.reset()
    failure(lambda: close(numbers(1e-9), [0.0]))  # beyond a bound of zero
    assert closeness.worst == INF
    closeness.reset()
    close(numbers(0.0), [0.0])
    assert closeness.worst == 0.0
    closeness.reset()
    gradient({"x": numbers(1.0, 1.05)})
    assert closeness.worst == pytest.approx(0.5)
    closeness.reset()
    failure(lambda: checks.close(ROW, ROW + 1, rtol=0, atol=0.1, of="f(x)", outcome=Outcome.WRONG_ERROR))
    assert closeness.worst is None  # not a comparison with a tolerance from dtype and length
    ulps(numbers(1.0 + 2.0**-8), [1.0])
    assert closeness.worst == pytest.approx(0.5)
