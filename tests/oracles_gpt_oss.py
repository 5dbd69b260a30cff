"""Independent references of `gpt_oss.py`: NumPy float64, from features in pairs, with bounds by arithmetic.

A bound is (a + b - |a - b|) / 2, so that neither a clamp nor a comparison is shared with what students write; slopes
are counted from signs. Every argument is named, so that nothing here answers a student's call.
"""

from __future__ import annotations

import numpy as np

from tests.oracles import Array, logistic


def paired(*, features: Array) -> tuple[Array, Array]:
    """The first and the second member of each pair of neighbours: [..., 2F] → [..., F] twice."""
    pairs = features.reshape(*features.shape[:-1], -1, 2)
    return pairs[..., 0], pairs[..., 1]


def at_most(*, values: Array, bound: float) -> Array:
    """The smaller of each value and the bound."""
    return (values + bound - np.abs(values - bound)) / 2


def between(*, values: Array, bound: float) -> Array:
    """Each value, or the nearer of ±bound."""
    return (np.abs(values + bound) - np.abs(values - bound)) / 2


def bounded_product(*, features: Array, slope: float, bound: float) -> Array:
    """The activation (M6 §9): [..., 2F] → [..., F]; the sigmoid's slope and the bound are alpha and limit."""
    first, second = paired(features=features)
    shut = at_most(values=first, bound=bound)
    return shut * logistic(slope * shut) * (1.0 + between(values=second, bound=bound))


def bounded_product_gradient(*, features: Array, slope: float, bound: float, upstream: Array) -> Array:
    """The gradient of sum(upstream · activation) with respect to the features, none of which lies at a bound.

    With σ at the bounded gate ḡ: σ + slope·ḡ·σ·(1 − σ) times the shifted up value, and ḡ·σ; zero beyond a bound.
    """
    first, second = paired(features=features)
    shut = at_most(values=first, bound=bound)
    sigma = logistic(slope * shut)
    within_first = (1.0 - np.sign(first - bound)) / 2
    within_second = (1.0 - np.sign(np.abs(second) - bound)) / 2
    shifted = 1.0 + between(values=second, bound=bound)
    d_first = upstream * shifted * within_first * (sigma + slope * shut * sigma * (1.0 - sigma))
    d_second = upstream * shut * sigma * within_second
    return np.stack([d_first, d_second], axis=-1).reshape(features.shape)
