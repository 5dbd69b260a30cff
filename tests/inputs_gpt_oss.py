"""Inputs of `gpt_oss.py`, designed for a mistake: each maker says what it hides and what it shows."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tests.inputs import tensor
from tests.oracles import Array


def interleaved(gate: object, up: object, dtype: torch.dtype = torch.float32) -> Tensor:
    """A packed projection [..., 2F] of these branches, [..., F] each (or one number for all)."""
    z, u = np.broadcast_arrays(np.asarray(gate, dtype=np.float64), np.asarray(up, dtype=np.float64))
    return tensor(np.stack([z, u], axis=-1).reshape(*z.shape[:-1], 2 * z.shape[-1]), dtype)


def one_pair_a_token(gate: object, up: object, dtype: torch.dtype = torch.float32) -> Tensor:
    """N gates and N up values as N tokens with F = 1: [1, N, 2]. How a projection is packed is hidden."""
    z, u = np.broadcast_arrays(np.asarray(gate, dtype=np.float64), np.asarray(up, dtype=np.float64))
    return tensor(np.stack([z, u], axis=-1)[None], dtype)


def around(rng: np.random.Generator, *shape: int, limit: float) -> Tensor:
    """A packed projection of `shape` = [..., 2F] with at least 16 pairs.

    Gates and up values each lie inside and beyond the limit, on both sides of zero, in all 16 combinations, and none
    nearer to a limit than a tenth of it.
    """
    kinds = rng.permutation(int(np.prod(shape)) // 2) % 16
    gate, up = (_drawn(rng, kind, limit).reshape(*shape[:-1], -1) for kind in (kinds % 4, kinds // 4))
    return interleaved(gate, up)


def _drawn(rng: np.random.Generator, kinds: Array, limit: float) -> Array:
    """One number of each kind: bit 0 says on which side of zero, bit 1 whether beyond the limit."""
    beyond = kinds // 2 > 0
    sizes = np.where(beyond, rng.uniform(1.1, 2.5, kinds.shape), rng.uniform(0.1, 0.9, kinds.shape))
    return np.where(kinds % 2 > 0, -limit, limit) * sizes
