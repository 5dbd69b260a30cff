"""Independent references of `elementwise.py`: NumPy float64, on angles and exponentials.

x / √(b + x²) is the sine of the angle whose tangent is x / √b, so its derivatives are powers of a cosine.
"""

from __future__ import annotations

import numpy as np

from tests.oracles import Array, logistic


def softplus(r: float) -> float:
    """log(1 + e^r), for every finite r."""
    return float(np.logaddexp(0.0, r))


def hyperbolic(z: Array) -> Array:
    """tanh by e^(-2|z|) - 1: no cancellation near zero, no overflow far out."""
    shrunk = np.expm1(-2.0 * np.abs(z))
    return np.sign(z) * -shrunk / (2.0 + shrunk)


def sine(x: Array, b: float) -> Array:
    """The sine of the angle with tangent x / √b."""
    return np.sin(np.arctan2(x, b**0.5))


def dyt_features(x: Array, alpha: float, gamma: Array, beta: Array) -> Array:
    """DyT (M6 §11): x: [..., D] → [..., D]."""
    return np.einsum("...d,d->...d", hyperbolic(alpha * x), gamma) + beta


def dyisru_features(x: Array, b: float, gamma: Array, beta: Array) -> Array:
    """DyISRU (M6 §11) with a given b: x: [..., D] → [..., D]."""
    return np.einsum("...d,d->...d", sine(x, b), gamma) + beta


def dyt_gradients(x: Array, alpha: float, gamma: Array, beta: Array, upstream: Array) -> dict[str, Array]:
    """Closed-form gradients of sum(upstream · y) with respect to x: [..., D], alpha, gamma: [D] and beta: [D]."""
    slope = 4.0 * logistic(2.0 * alpha * x) * logistic(-2.0 * alpha * x) * upstream * gamma
    return {"x": alpha * slope, "alpha": np.sum(x * slope), **_affine(hyperbolic(alpha * x), upstream)}


def dyisru_gradients(x: Array, r: float, gamma: Array, beta: Array, upstream: Array) -> dict[str, Array]:
    """Closed-form gradients of sum(upstream · y) with respect to x: [..., D], r, gamma: [D] and beta: [D]."""
    b = softplus(r)
    cosine = np.cos(np.arctan2(x, b**0.5))
    a = upstream * gamma
    db = np.sum(-0.5 / b * a * sine(x, b) * cosine**2)
    return {
        "x": a * cosine**3 / b**0.5,
        "r": db * logistic(np.asarray(r)),
        **_affine(sine(x, b), upstream),
    }


def _affine(squashed: Array, upstream: Array) -> dict[str, Array]:
    """What reaches the gain and the shift: sums over all tokens."""
    width = squashed.shape[-1]
    return {
        "gamma": (upstream * squashed).reshape(-1, width).sum(axis=0),
        "beta": upstream.reshape(-1, width).sum(axis=0),
    }
