"""Inputs of `hyper_connections.py`, designed for a mistake: each maker says what it hides and what it shows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from tests.inputs import exact, near, tensor
from tests.oracles import Array

B, S, D = 5, 6, 7
STREAMS = (2, 3, 4)
"""Two streams as in the course, and more: a doubly stochastic 2×2 matrix is symmetric. All sizes differ."""

MIXED = np.array([[0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6]])
"""Doubly stochastic and not symmetric."""


def mild(rng: np.random.Generator, *shape: int) -> Array:
    """Logits so alike that 20 rounds reach the limit: the order of a round and the number of rounds are hidden."""
    return rng.uniform(-1.0, 1.0, shape)


def spread(rng: np.random.Generator, *shape: int) -> Array:
    """Logits so unlike that every round still changes the matrix."""
    return rng.uniform(-3.0, 3.0, shape)


def near_symmetric(rng: np.random.Generator, matrix: Array) -> Array:
    """Entries near those of a symmetric matrix, symmetric as well."""
    drawn = np.triu(near(rng, matrix))
    return drawn + np.triu(drawn, 1).T


def near_doubly_stochastic(rng: np.random.Generator) -> Array:
    """Like MIXED, each row the one before turned by a place."""
    row = near(rng, MIXED[0])
    return np.stack([np.roll(row / row.sum(), i) for i in range(len(row))])


def slow(n: int, low: float = -12.0) -> Array:
    """Nearly triangular entries: the distance from the limit falls like one over the rounds, 20 and 19 differ."""
    return np.where(np.tri(n, k=-1) > 0, low, 0.0)


def drawn_slow(rng: np.random.Generator, n: int) -> Array:
    """The same with a drawn number: above -10 the limit would come nearer, below -12 logits would be less exact."""
    return slow(n, rng.uniform(-12.0, -10.0))


def extreme(rng: np.random.Generator, n: int) -> Array:
    """Matrices of ±10000: one row or one column far from the rest, all of one sign, signs and numbers drawn."""
    row = np.full((n, n), 1e4)
    row[0] = -1e4
    drawn = rng.choice([-1e4, 1e4], (2, n, n))
    return np.concatenate(
        [
            np.stack([row, -row, row.T, -row.T, np.full((n, n), 1e4), np.full((n, n), -1e4)]),
            drawn,
            5e3 * spread(rng, 2, n, n) / 3,
        ]
    )


def layer(
    rng: np.random.Generator, n: int, *leading: int, width: int = D, dtype: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    """Arguments of a hyper-connection step with arbitrary weights, R not projected; X: [*leading, n, width]."""
    arrays = {
        "X": rng.standard_normal((*leading, n, width)),
        "R": rng.uniform(-1.0, 1.0, (n, n)),
        "read": rng.uniform(0.3, 1.0, n) * _signs(n),
        "write": rng.uniform(0.5, 1.5, n) * -_signs(n),
        "A": rng.standard_normal((width, width)) / width**0.5,
        "b": rng.uniform(0.2, 0.6, width),
    }
    return {name: tensor(value, dtype) for name, value in arrays.items()}


def constrained_layer(
    rng: np.random.Generator, n: int, *leading: int, width: int = D, dtype: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    """Arguments of an mHC step; X: [*leading, n, width]."""
    given = layer(rng, n, *leading, width=width, dtype=dtype)
    logits = {
        "residual_logits": tensor(spread(rng, n, n), dtype),
        "read_logits": tensor(rng.uniform(0.5, 2.0, n) * _signs(n), dtype),
        "write_logits": tensor(rng.uniform(0.5, 2.0, n) * -_signs(n), dtype),
    }
    return {"X": given["X"]} | logits | {"A": given["A"], "b": given["b"]}


def without_branch(arguments: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same with a branch that returns zero for every input: what was read and written is hidden."""
    return arguments | {name: torch.zeros_like(arguments[name]) for name in ("A", "b")}


def cancelling_streams(rng: np.random.Generator, n: int, *leading: int) -> Tensor:
    """Streams whose sum is exactly zero: mixing them evenly, and taking their mean, gives nothing."""
    X = rng.integers(-64, 65, (*leading, n, D)) / 32
    X[..., -1, :] -= X.sum(axis=-2)
    return tensor(X)


def known(arguments: Mapping[str, Tensor]) -> dict[str, Array]:
    """The arguments' own values in float64, by name: what an oracle must be given."""
    return {name: exact(value) for name, value in arguments.items()}


def dtype_name(dtype: torch.dtype) -> str:
    """`float32`, as messages name it."""
    return str(dtype).removeprefix("torch.")


def _signs(n: int) -> Array:
    return np.where(np.arange(n) % 2, -1.0, 1.0)
