"""Independent references of qk_norm: NumPy float64 and closed forms. Arguments are keyword-only, unlike any answer's.

The two RMS norms are `oracles.rms_norm_rows`: heads are rows of H features, or tokens rows of N·H.
"""

from __future__ import annotations

import numpy as np

from tests import oracles
from tests.oracles import Array


def _lengths(rows: Array) -> Array:
    return np.hypot.reduce(rows, axis=-1, keepdims=True)


def cosine_scores(*, queries: Array, keys: Array, scale: float, floor: float = 1e-6) -> Array:
    """scale · cosine of every query and key: [..., S, H], [..., T, H] → [..., S, T]; lengths are floored."""
    products = np.einsum("...sh,...th->...st", queries, keys)
    over = np.einsum("...so,...to->...st", *(np.fmax(_lengths(rows), floor) for rows in (queries, keys)))
    return scale * products / over


def cosine_scores_gradients(*, queries: Array, keys: Array, scale: float, upstream: Array) -> dict[str, Array]:
    """Closed-form gradients of sum(upstream · scores) with respect to q, k and tau, for lengths above the floor.

    The part of the incoming vector along the unit vector is taken out, then it is divided by the length.
    """
    q_unit, k_unit = queries / _lengths(queries), keys / _lengths(keys)
    into_q = scale * np.einsum("...st,...th->...sh", upstream, k_unit)
    into_k = scale * np.einsum("...st,...sh->...th", upstream, q_unit)
    return {
        "q": (into_q - q_unit * np.sum(into_q * q_unit, axis=-1, keepdims=True)) / _lengths(queries),
        "k": (into_k - k_unit * np.sum(into_k * k_unit, axis=-1, keepdims=True)) / _lengths(keys),
        "tau": np.sum(upstream * np.einsum("...sh,...th->...st", q_unit, k_unit)),
    }


def head_rows(*, heads: Array, gain: Array, eps: float) -> Array:
    """Each head by its own RMS: [B, S, N, H] → [B, S, N, H]."""
    return oracles.rms_norm_rows(heads, gain, eps)


def token_rows(*, tokens: Array, gain: Array, n_heads: int, eps: float) -> Array:
    """Each token by one RMS, then cut into heads: [B, S, N*H] → [B, S, N, H]."""
    return np.stack(np.split(oracles.rms_norm_rows(tokens, gain, eps), n_heads, axis=-1), axis=-2)


def bent(*, scores: Array, bound: float) -> Array:
    """Scores bent into ±bound, by the identity with the logistic function."""
    return bound * (2.0 * oracles.logistic(2.0 * scores / bound) - 1.0)


def bent_gradient(*, scores: Array, bound: float, upstream: Array) -> Array:
    """Closed-form gradient of sum(upstream · bent): 1 − tanh²."""
    return upstream * (1.0 - (bent(scores=scores, bound=bound) / bound) ** 2)
