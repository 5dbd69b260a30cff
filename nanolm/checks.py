"""Check helpers of the graded tests: compare, and say what was called, what came back and where it differs.

Each helper raises CheckFailure with one outcome of the contract. `implies` names a mistake only where this very failure
has no other explanation; it is evidence of the kind `property`. Selftests show each helper failing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nanolm.protocol import Outcome, StudentFault
from nanolm.texts import text
from nanolm.untrusted import printable

if TYPE_CHECKING:
    from torch import Tensor

SHOWN = 6
"""How many numbers of a row a message shows."""


class Closeness:
    """The largest share of a tolerance that a test's comparisons used: 1 is the bound, above it they failed.

    `nanolm verify --margins` reads it; a test never does.
    """

    def __init__(self) -> None:
        self.worst: float | None = None

    def reset(self) -> None:
        """A new test begins."""
        self.worst = None

    def note(self, share: float) -> None:
        """One comparison's share; NaN counts as infinitely far."""
        share = float("inf") if share != share else share
        self.worst = share if self.worst is None else max(self.worst, share)


closeness = Closeness()


class CheckFailure(AssertionError):
    """A test's verdict other than `passed`.

    `headline` may always be shown; `numbers` (what came back, what was expected, where) only where the inputs are
    public.
    """

    def __init__(self, outcome: Outcome, headline: str, numbers: str = "", implies: str | None = None) -> None:
        super().__init__(f"{headline}\n{numbers}" if numbers else headline)
        self.outcome = outcome
        self.headline = headline
        self.numbers = numbers
        self.implies = implies


def values(tensor: Tensor) -> NDArray[np.float64]:
    """A tensor's values as a float64 array, whatever its dtype."""
    return tensor.detach().resolve_conj().resolve_neg().double().cpu().numpy()


def shape(actual: Tensor, expected: Sequence[int], *, of: str, implies: str | None = None) -> None:
    """The output has the expected shape."""
    if tuple(actual.shape) != tuple(expected):
        headline = text("checks", "shape", of=of, got=list(actual.shape), expected=list(expected))
        raise CheckFailure(Outcome.WRONG_SHAPE, headline, implies=implies)


def dtype(actual: Tensor, expected: Any, *, of: str, implies: str | None = None) -> None:
    """The output has the expected dtype."""
    if actual.dtype != expected:
        headline = text("checks", "dtype", of=of, got=_short(actual.dtype), expected=_short(expected))
        raise CheckFailure(Outcome.WRONG_DTYPE, headline, implies=implies)


def finite(actual: Tensor, *, of: str, implies: str | None = None) -> None:
    """No NaN and no infinity in the output."""
    array = values(actual)
    bad = ~np.isfinite(array)
    if bad.any():
        headline = text("checks", "finite", of=of, count=int(bad.sum()), total=array.size)
        index = _first(bad)
        numbers = text("checks", "finite_numbers", where=_place(index), got=f"{array[index]:g}")
        raise CheckFailure(Outcome.NOT_FINITE, headline, numbers, implies)


def close(
    actual: Tensor,
    expected: ArrayLike,
    *,
    rtol: float,
    atol: float,
    of: str,
    what: str = "",
    detail: str = "",
    implies: str | None = None,
    outcome: Outcome = Outcome.WRONG_VALUE,
) -> None:
    """Same shape, finite, and |actual - expected| ≤ atol + rtol·|expected| everywhere.

    `of` says what was called and is always shown, `detail` (drawn sizes, a drawn eps) only with the numbers.
    """
    wanted = np.asarray(expected, dtype=np.float64)
    shape(actual, wanted.shape, of=of)
    got = values(actual)
    if np.isfinite(wanted).all():
        finite(actual, of=of)
    with np.errstate(invalid="ignore", divide="ignore"):
        bound = atol + rtol * np.abs(wanted)
        # An expected infinity that came back is right: their difference would be NaN.
        error = np.where(got == wanted, 0.0, np.abs(got - wanted))
        excess = error - bound
        shares = np.divide(error, bound, out=np.zeros_like(bound), where=error != 0)
    if outcome in (Outcome.WRONG_VALUE, Outcome.WRONG_GRADIENT):
        closeness.note(float(shares.max(initial=0.0)))
    wrong = ~((excess <= 0) | (error == 0))
    if not wrong.any():
        return
    index = _worst(np.where(wrong, np.nan_to_num(excess, nan=np.inf), -np.inf))
    reason = what or text("checks", "differs", of=of)
    headline = text("checks", "close", reason=reason, count=int(wrong.sum()), total=wanted.size)
    numbers = text(
        "checks",
        "close_numbers",
        where=_place(index),
        got=_number(got[index]),
        expected=_number(wanted[index]),
        got_row=_row(got, index),
        expected_row=_row(wanted, index),
    )
    raise CheckFailure(outcome, headline, "\n".join(filter(None, [detail, numbers])), implies)


def is_close(actual: Tensor, expected: ArrayLike, *, rtol: float, atol: float) -> bool:
    """Same shape and close, as a question: what a test asks before it names a mistake."""
    wanted, got = np.asarray(expected, dtype=np.float64), values(actual)
    return got.shape == wanted.shape and bool(np.allclose(got, wanted, rtol=rtol, atol=atol))


def within_ulps(actual: Tensor, expected: ArrayLike, *, bits: int, ulps: float, of: str) -> None:
    """|actual - expected| ≤ ulps units in the last place, for a format with `bits` stored mantissa bits."""
    wanted = np.asarray(expected, dtype=np.float64)
    shape(actual, wanted.shape, of=of)
    finite(actual, of=of)
    unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(wanted), np.finfo(np.float32).tiny))) - bits)
    with np.errstate(invalid="ignore"):
        error = np.abs(values(actual) - wanted) / unit
    closeness.note(float(error.max(initial=0.0)) / ulps)
    if not (error <= ulps).all():
        index = _worst(np.nan_to_num(error, nan=np.inf))
        headline = text("checks", "ulps", of=of, worst=f"{error[index]:.2f}", allowed=f"{ulps:g}")
        numbers = text(
            "checks",
            "ulps_numbers",
            where=_place(index),
            got=_number(values(actual)[index]),
            expected=_number(wanted[index]),
        )
        raise CheckFailure(Outcome.WRONG_VALUE, headline, numbers)


def gradient(
    gradients: dict[str, Tensor],
    name: str,
    expected: ArrayLike,
    *,
    rtol: float,
    atol: float,
    of: str,
    implies_not_finite: str | None = None,
) -> None:
    """A gradient reaches `name`, is finite and equals the closed form."""
    if name not in gradients:
        raise CheckFailure(Outcome.WRONG_GRADIENT, text("checks", "unreached", of=of, name=name))
    what = text("checks", "gradient", of=of, name=name)
    if not np.isfinite(values(gradients[name])).all():
        headline = text("checks", "gradient_not_finite", of=of, name=name)
        raise CheckFailure(Outcome.NOT_FINITE, headline, implies=implies_not_finite)
    close(gradients[name], expected, rtol=rtol, atol=atol, of=what, what=what, outcome=Outcome.WRONG_GRADIENT)


def unchanged(after: Tensor, before: Tensor, *, of: str, name: str, implies: str | None = None) -> None:
    """The caller's argument is what it was before the call."""
    was, now = values(before), values(after)
    if was.shape != now.shape:
        headline = text("checks", "unchanged_shape", of=of, name=name, before=list(was.shape), after=list(now.shape))
        raise CheckFailure(Outcome.INPUT_MUTATED, headline, implies=implies)
    if before.dtype != after.dtype:
        old, new = _short(before.dtype), _short(after.dtype)
        headline = text("checks", "unchanged_dtype", of=of, name=name, before=old, after=new)
        raise CheckFailure(Outcome.INPUT_MUTATED, headline, implies=implies)
    changed = ~((was == now) | (np.isnan(was) & np.isnan(now)))
    if changed.any():
        index = _first(changed)
        headline = text("checks", "unchanged", of=of, name=name, count=int(changed.sum()))
        numbers = text(
            "checks", "unchanged_numbers", where=_place(index), before=_number(was[index]), after=_number(now[index])
        )
        raise CheckFailure(Outcome.INPUT_MUTATED, headline, numbers, implies)


def equal(actual: object, expected: object, *, of: str, implies: str | None = None) -> None:
    """Exactly equal, and of the same type: for whole numbers."""
    if type(actual) is not type(expected) or actual != expected:
        headline = text("checks", "equal", of=of)
        numbers = text("checks", "equal_numbers", got=_shown(actual), expected=_shown(expected))
        raise CheckFailure(Outcome.WRONG_VALUE, headline, numbers, implies)


def raises(attempt: Callable[[], object], kind: str, *, of: str, implies: str | None = None) -> None:
    """The attempt raises an exception of that class (or of a subclass), and no other."""
    try:
        attempt()
    except StudentFault as fault:
        if fault.outcome is not Outcome.EXCEPTION:
            raise
        if kind in fault.bases:
            return
        headline = text("checks", "wrong_error", of=of, got=printable(fault.kind, 80), expected=kind)
        raise CheckFailure(Outcome.WRONG_ERROR, headline, printable(fault.message, 200)) from fault
    raise CheckFailure(Outcome.WRONG_ERROR, text("checks", "no_error", of=of, expected=kind), implies=implies)


def require(condition: bool, headline: str, *, outcome: Outcome, numbers: str = "", implies: str | None = None) -> None:
    """Anything else that a test states in words of its own (from the catalogue)."""
    if not condition:
        raise CheckFailure(outcome, headline, numbers, implies)


def _shown(value: object) -> str:
    """A number of any size, cut where nobody would read on."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**3:
        return f"{value:_}" if abs(value) < 10**40 else f"an integer of {value.bit_length()} bits"
    return printable(repr(value), 80)


def _short(value: object) -> str:
    return str(value).removeprefix("torch.")


def _number(value: float) -> str:
    return f"{value:.6g}"


def _first(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0]) if mask.ndim else ()


def _worst(excess: NDArray[np.float64]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), excess.shape)) if excess.ndim else ()


def _place(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]" if index else "its value"


def _row(array: NDArray[np.float64], index: tuple[int, ...]) -> str:
    """The numbers around `index` along the last axis."""
    if not index:
        return _number(float(array))
    row = array[index[:-1]]
    start = max(0, min(index[-1] - SHOWN // 2, len(row) - SHOWN))
    shown = " ".join(_number(value) for value in row[start : start + SHOWN])
    return f"[{'… ' if start else ''}{shown}{' …' if start + SHOWN < len(row) else ''}]"
