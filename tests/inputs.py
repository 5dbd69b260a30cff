"""Inputs designed for a mistake: each maker says what it hides and what it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import torch
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from tests.oracles import Array

B, S, D, F = 2, 3, 5, 7
"""Pairwise different primes, so that a wrong axis changes a shape or a value."""

seeds = st.integers(min_value=0, max_value=2**32 - 1)
"""Laws draw a seed and make arrays with NumPy: ten times cheaper than drawing arrays."""

Case = TypeVar("Case")

lengths = st.sampled_from([1, 2, 3])
widths = st.sampled_from([2, 3, 5, 8, 17])


def tensor(values: object, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor of the values, rounded to `dtype`."""
    return torch.tensor(np.asarray(values, dtype=np.float64)).to(dtype)


def centred_rows(rng: np.random.Generator, *shape: int) -> Tensor:
    """Rows of mean zero and different sizes: centring is hidden, a statistic over the wrong axis is not."""
    x = rng.standard_normal(shape)
    x -= x.mean(axis=-1, keepdims=True)
    sizes = rng.uniform(0.5, 3.0, shape[:-1])
    return tensor(x * sizes[..., None])


def near(rng: np.random.Generator, values: object) -> Array:
    """The values, each times a factor of its own between 0.8 and 1.25: a worked example's sister, another every round.

    Signs, zeros, shape and the order of size of each value stay, so that it shows what the example shows; a table of
    the example's own numbers does not hold it.
    """
    array = np.asarray(values, dtype=np.float64)
    return array * rng.uniform(0.8, 1.25, array.shape)


def then(example: Case, draw: Callable[[], Case]) -> Iterator[Case]:
    """An example, then what is drawn like it, when its turn comes: before that no secret number is in play."""
    yield example
    yield draw()


def with_sister(rng: np.random.Generator, values: Array) -> Iterator[Array]:
    """An example, then values `near` it."""
    return then(values, lambda: near(rng, values))


def gains(rng: np.random.Generator, width: int) -> Tensor:
    """Gains from U(0.5, 2), none alike: at ones a forgotten gain cannot be seen."""
    return tensor(rng.uniform(0.5, 2.0, width))


def ones(width: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """The neutral gain."""
    return torch.ones(width, dtype=dtype)


def exact(value: Tensor) -> Array:
    """The tensor's own values in float64: what an oracle must be given."""
    return value.double().numpy()


def gate_and_up(gate: object, up: object, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    """Arguments of a SwiGLU (D = 2F) whose gate and up branches hold just these numbers: [..., F] each.

    The first F outputs are the products, the other F are zero.
    """
    z: NDArray[np.float64] = np.asarray(gate, dtype=np.float64)
    u: NDArray[np.float64] = np.asarray(up, dtype=np.float64)
    width = z.shape[-1]
    identity, zeros = np.eye(width), np.zeros((width, width))
    return {
        "x": tensor(np.concatenate([z, u], axis=-1), dtype),
        "w_gate": tensor(np.concatenate([identity, zeros], axis=1), dtype),
        "w_up": tensor(np.concatenate([zeros, identity], axis=1), dtype),
        "w_down": tensor(np.concatenate([identity, zeros], axis=0), dtype),
    }


def random_ffn(rng: np.random.Generator, *leading: int, d_model: int = D, d_ff: int = F) -> dict[str, Tensor]:
    """Arguments of a SwiGLU with random maps of unit gain; x: [*leading, D]."""
    return {
        "x": tensor(rng.standard_normal((*leading, d_model))),
        "w_gate": tensor(rng.standard_normal((d_ff, d_model)) / d_model**0.5),
        "w_up": tensor(rng.standard_normal((d_ff, d_model)) / d_model**0.5),
        "w_down": tensor(rng.standard_normal((d_model, d_ff)) / d_ff**0.5),
    }
