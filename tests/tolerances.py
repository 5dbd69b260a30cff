"""Every tolerance of the graded tests, with its reason. Oracles are float64: all of the error is the student's dtype.

`nanolm verify --margins` prints, for each test, how much of its tolerance the accepted variants use and how far beyond
it the nearest mistake lands. A number here changes only together with that measurement.
"""

from __future__ import annotations

from typing import NamedTuple

FLOAT32_EPS = 2.0**-23
FLOAT64 = 1e-12
"""What the contract asks of numpy_bridge in float64, absolute: thousands of units, so that any order of operations is
right, while float32 on the way (1e-8) and a polynomial for erf (1e-7) are not."""
FLOAT64_UNITS = 4 * 2.0**-52
"""Beside FLOAT64 for results of up to 10000, which one unit in the last place moves by more than 1e-12."""
HALF_ULPS = 1.0
"""In float16 and bfloat16, units in the last place. Rounding the exact result once costs 0.5; a widened computation
stays at 0.50 (late widening in bfloat16: 0.53), one that never widens reaches 1.4 and more (see `precise_in_half`)."""


class Tolerance(NamedTuple):
    """Bounds of a comparison: |actual - expected| ≤ atol + rtol·|expected|."""

    rtol: float
    atol: float


def float32(reduction: int, scale: float = 1.0) -> Tolerance:
    """A float32 result that sums `reduction` terms and whose terms are of size `scale`.

    Rounding of a sum grows like the root of its length at worst-case-like constants; 16 units leave room for another
    order of operations (division or rsqrt, gain before or after), which differ by 3 units. Cancellation makes the
    error relative to the terms, not to the result: hence the absolute part.
    """
    units = 16 * FLOAT32_EPS * reduction**0.5
    return Tolerance(rtol=units, atol=units * scale)


def loose_half(bits: int, scale: float = 1.0) -> Tolerance:
    """Half precision where the contract asks for little: a few units of `bits` stored mantissa bits."""
    units = 4 * 2.0**-bits
    return Tolerance(rtol=units, atol=units * scale)


def log_domain(largest: float) -> Tolerance:
    """Numbers whose float32 logarithms were sums and differences of terms up to `largest`.

    Each sum is rounded by up to half a unit of `largest`, and an error in a logarithm is a relative error of the
    number: 8 units leave room for a few such terms (potentials that are kept apart to the end do worst).
    """
    units = 8 * FLOAT32_EPS * max(largest, 2.0)
    return Tolerance(rtol=units, atol=units)


BFLOAT16_BITS = 7
FLOAT16_BITS = 10

TF32_BITS = 10
"""What TF32 keeps of a matrix product's operands; sums are float32."""


def tf32(scale: float = 1.0) -> Tolerance:
    """A float32 result on a GPU whose matrix products may use TF32.

    Every term of a product is off by at most two roundings of 2^-11; they add up like the terms themselves, so that
    `scale`, the size of the result, carries the length of the sum. Four such units leave room for the worst of many.
    """
    units = 4 * 2.0**-TF32_BITS
    return Tolerance(rtol=units, atol=units * scale)
