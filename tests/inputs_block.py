"""Inputs of `block.py`, designed for a mistake: each maker says what it hides and what it shows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from tests.inputs import exact, near, tensor
from tests.oracles import Array
from tests.oracles_block import callables

B, S, D = 2, 3, 5

CHAINS: dict[str, dict[str, tuple[float, float]]] = {
    "pre_norm_step": {"attn": (5, 0), "ffn": (7, 0), "norm1": (2, 1), "norm2": (3, 2)},
    "post_norm_step": {"attn": (5, 0), "ffn": (7, 0), "norm1": (2, 1), "norm2": (3, 2)},
    "peri_norm_step": {"attn": (5, 0), "ffn": (7, 0), "in1": (2, 1), "out1": (3, 2), "in2": (1, 1), "out2": (2, -3)},
    "output_norm_step": {"attn": (5, 0), "ffn": (7, 0), "out1": (3, 2), "out2": (2, -3)},
}
"""Each callable as (a, b) of a·x + b on single numbers: every arrangement of them gives another result."""


def chain(step: str) -> dict[str, Tensor]:
    """Arguments of a step whose callables are affine maps of one number, from x = 1."""
    given = {"x": tensor([1.0])}
    for name, (slope, constant) in CHAINS[step].items():
        given |= {f"{name}_A": tensor([[slope]]), f"{name}_b": tensor([constant])}
    return given


def near_chain(rng: np.random.Generator, step: str) -> dict[str, Tensor]:
    """The same with numbers near these."""
    return {name: tensor(near(rng, exact(value))) for name, value in chain(step).items()}


def block(rng: np.random.Generator, step: str, *leading: int) -> dict[str, Tensor]:
    """Arguments of a step whose callables are curved and biased, and no two alike; x: [*leading, D]."""
    arrays = {"x": rng.standard_normal((*leading, D))}
    for name in callables(step):
        arrays[f"{name}_A"] = rng.standard_normal((D, D)) / D**0.5
        arrays[f"{name}_b"] = rng.uniform(0.2, 0.6, D)
    return {name: tensor(value) for name, value in arrays.items()}


def silenced(given: Mapping[str, Tensor], *names: str) -> dict[str, Tensor]:
    """The same, with callables that return zero for every input: what they read is hidden."""
    changed = [f"{name}_{part}" for name in names for part in "Ab"]
    return {**given, **{name: torch.zeros_like(given[name]) for name in changed}}


def known(arguments: Mapping[str, Tensor]) -> dict[str, Array]:
    """The arguments' own values in float64, by name: what an oracle must be given."""
    return {name: exact(value) for name, value in arguments.items()}


def stack(rng: np.random.Generator, width: int = 7, depth: int = 4) -> tuple[Tensor, Tensor]:
    """h0 and weights of a linear stream, float64: no matrix is symmetric or of mean zero, no two scales are alike."""
    weights = rng.standard_normal((depth, width, width)) / width**0.5 + 0.2
    return tensor(rng.standard_normal(width) + 0.5, torch.float64), tensor(weights, torch.float64)


def course_like(rng: np.random.Generator, width: int = 16, depth: int = 9) -> tuple[Tensor, Tensor]:
    """A small stream drawn as the course draws its own."""
    h0, weights = rng.standard_normal(width), rng.normal(0.0, 1 / width**0.5, (depth, width, width))
    return tensor(h0, torch.float64), tensor(weights, torch.float64)


def vanishing(rng: np.random.Generator, width: int = 7) -> tuple[Tensor, Tensor]:
    """A stream so small that the floor of U decides, and matrices that only turn and stretch it: RMS 0.3e-12."""
    signs = np.where(rng.integers(0, 2, width), 1.0, -1.0)
    weights = np.stack([size * np.roll(np.eye(width), 1, axis=0) for size in (1.5, 0.5)])
    return tensor(0.3e-12 * signs, torch.float64), tensor(weights, torch.float64)
