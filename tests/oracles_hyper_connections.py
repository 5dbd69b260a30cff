"""Independent references of `hyper_connections.py`: NumPy float64, on positive entries and with the branch as numbers.

The projection is kept as two scaling vectors, and its derivative comes from complex steps: no logarithm in either.
"""

from __future__ import annotations

import numpy as np

from tests.oracles import Array, logistic

STEP = 1e-30
"""The imaginary step of the derivative: it is squared away, so nothing cancels."""


def balanced(entries: Array, rounds: int) -> Array:
    """diag(u) · entries · diag(v) after `rounds` of setting v (columns), then u (rows): [..., n, n], all positive."""
    u = np.ones_like(entries[..., 0])
    v = u
    for _ in range(rounds):
        v = 1.0 / np.einsum("...ij,...i->...j", entries, u)
        u = 1.0 / np.einsum("...ij,...j->...i", entries, v)
    return np.einsum("...i,...ij,...j->...ij", u, entries, v)


def balanced_pullback(entries: Array, rounds: int, upstream: Array) -> Array:
    """d sum(upstream · balanced) / d log(entries): [..., n, n], one complex step an entry."""
    n = entries.shape[-1]
    pulled = np.empty_like(entries)
    for i, j in np.ndindex(n, n):
        moved = entries.astype(np.complex128)
        moved[..., i, j] *= 1.0 + 1j * STEP
        pulled[..., i, j] = (upstream * np.imag(balanced(moved, rounds))).sum(axis=(-2, -1)) / STEP
    return pulled


def streams_after(X: Array, R: Array, read: Array, write: Array, A: Array, b: Array) -> Array:
    """One layer between n streams (W6), stream by stream; the branch is tanh(A x + b): X: [..., n, D] → [..., n, D]."""
    update = np.tanh(sum(weight * X[..., j, :] for j, weight in enumerate(read)) @ A.T + b)
    rows = [sum(R[i, j] * X[..., j, :] for j in range(len(read))) + share * update for i, share in enumerate(write)]
    return np.stack(rows, axis=-2)


def streams_gradients(
    X: Array, R: Array, read: Array, write: Array, A: Array, b: Array, upstream: Array
) -> dict[str, Array]:
    """Closed-form gradients of sum(upstream · streams_after) with respect to every argument, by name."""
    seen = np.einsum("j,...jd->...d", read, X)
    update = np.tanh(seen @ A.T + b)
    d_before = np.einsum("i,...id->...d", write, upstream) * (1.0 - update**2)
    d_seen = d_before @ A
    return {
        "X": np.einsum("ij,...id->...jd", R, upstream) + np.einsum("j,...d->...jd", read, d_seen),
        "R": _over_tokens("tid,tjd->ij", upstream, X),
        "read": _over_tokens("td,tjd->j", d_seen, X),
        "write": _over_tokens("tid,td->i", upstream, update),
        "A": _over_tokens("td,te->de", d_before, seen),
        "b": d_before.reshape(-1, X.shape[-1]).sum(axis=0),
    }


def _over_tokens(subscripts: str, left: Array, right: Array) -> Array:
    """A product summed over all tokens, whatever their leading axes: `t` stands for these."""
    ranks = (len(part) - 1 for part in subscripts.partition("->")[0].split(","))
    flat = [value.reshape(-1, *value.shape[-rank:]) for value, rank in zip((left, right), ranks, strict=True)]
    return np.einsum(subscripts, *flat)


def constrained(residual_logits: Array, read_logits: Array, write_logits: Array, rounds: int) -> dict[str, Array]:
    """R, read and write of an mHC step, from their logits of moderate size."""
    R = balanced(np.exp(residual_logits), rounds)
    return {"R": R, "read": logistic(read_logits), "write": logistic(write_logits)}


def constrained_streams_after(X: Array, A: Array, b: Array, rounds: int, **logits: Array) -> Array:
    """An mHC step: X: [..., n, D] → [..., n, D]."""
    return streams_after(X, **constrained(**logits, rounds=rounds), A=A, b=b)


def constrained_gradients(
    X: Array, A: Array, b: Array, rounds: int, upstream: Array, **logits: Array
) -> dict[str, Array]:
    """Gradients of sum(upstream · y) of an mHC step with respect to X, the three logits and the branch's numbers."""
    weights = constrained(**logits, rounds=rounds)
    found = streams_gradients(X, **weights, A=A, b=b, upstream=upstream)
    return {
        "X": found["X"],
        "residual_logits": balanced_pullback(np.exp(logits["residual_logits"]), rounds, found["R"]),
        "read_logits": found["read"] * weights["read"] * (1.0 - weights["read"]),
        "write_logits": found["write"] * weights["write"] * (1.0 - weights["write"]),
        "A": found["A"],
        "b": found["b"],
    }
