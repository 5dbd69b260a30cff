"""Inputs of `numpy_bridge.py`, designed for a mistake: each says what it hides and what it shows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from tests.inputs import B, D, F, S, centred_rows, gains, near, tensor
from tests.oracles import Array

DTYPES = (torch.float16, torch.float32, torch.float64)
"""What NumPy knows as floating point: bfloat16 is not among it."""

SIGNS = np.array([1.0, -1.0, 1.0, -1.0])
"""A row of mean zero and RMS 1."""

FAR = np.array([-1e4, -1000.0, -800.0, -100.0, -89.0, -30.0, -12.0, 12.0, 30.0, 89.0, 100.0, 800.0, 1000.0, 1e4])
"""Beyond the largest exponent of each dtype: 11 in float16, 88 in float32, 709 in float64. Φ and its imitations
agree out there."""

AROUND_FAR = np.array(
    [-8e3, -1000.0, -900.0, -125.0, -112.0, -38.0, -15.0, 15.0, 38.0, 112.0, 125.0, 900.0, 1000.0, 8e3]
)
"""What lies `near` each is beyond the exponents that its number in FAR is beyond, and within ±1e4."""

NEAR = np.array([-8.0, -5.0, -2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0, 5.0, 8.0])
"""Where the curves differ from each other, and coarse approximations from exact ones."""

GATES = np.array([-9.0, -3.0, -1.5, -0.4, 0.4, 1.5, 3.0, 9.0])
"""Gates and ups on both sides of limits between 0.5 and 7."""


def opposite_pairs(rng: np.random.Generator, *sizes: float) -> Array:
    """Rows (a, -a, b, -b) with a and b near each size: like SIGNS of mean zero, but with results of their own."""
    return SIGNS * np.repeat(near(rng, [[size, size] for size in sizes]), 2, axis=-1)


def short_constant(rng: np.random.Generator) -> float:
    """Between 3.2 and 5, of ten binary digits: sums of five and of five squares are exact in float32, as those of 4."""
    return float(rng.integers(410, 641)) / 128


def grid(gates: Array = GATES, ups: Array = GATES) -> dict[str, Tensor]:
    """Every gate with every up: [8, 8]."""
    gate, up = np.meshgrid(gates, ups)
    return {"gate": tensor(gate), "up": tensor(up)}


def shifts(rng: np.random.Generator, width: int) -> Tensor:
    """Shifts well away from zero, of both signs."""
    return tensor(rng.uniform(0.5, 2.0, width) * np.where(np.arange(width) % 2, -1.0, 1.0))


def large_centred_rows(rng: np.random.Generator, *shape: int) -> Tensor:
    """float64 rows of mean zero in float64 and of a size beside which eps is nothing, wherever it stands."""
    rows = rng.standard_normal(shape)
    return tensor(2.0**27 * (rows - rows.mean(axis=-1, keepdims=True)), torch.float64)


def norm_arguments(rng: np.random.Generator, *leading: int) -> dict[str, Tensor]:
    """x: [*leading, D] of centred rows, gamma and beta: [D]."""
    return {"x": centred_rows(rng, *leading, D), "gamma": gains(rng, D), "beta": shifts(rng, D)}


def mlp_arguments(rng: np.random.Generator, *leading: int) -> dict[str, Tensor]:
    """x: [*leading, D], w_gate and w_up: [D, F], w_down: [F, D]; none is square."""
    return {
        "x": tensor(rng.standard_normal((*leading, D))),
        "w_gate": tensor(rng.standard_normal((D, F)) / D**0.5),
        "w_up": tensor(rng.standard_normal((D, F)) / D**0.5),
        "w_down": tensor(rng.standard_normal((F, D)) / F**0.5),
    }


def arguments_of(name: str, rng: np.random.Generator, *leading: int) -> dict[str, Tensor]:
    """Arguments that any function of the file can be called with, of both signs and with large values among them."""
    if name == "swiglu_mlp":
        return mlp_arguments(rng, *leading)
    if name == "swiglu":
        return {key: tensor(4 * rng.standard_normal((*leading, D))) for key in ("gate", "up")}
    if name in ("rms_norm", "layer_norm"):
        given = norm_arguments(rng, *leading)
        return given if name == "layer_norm" else {"x": given["x"], "gamma": given["gamma"]}
    return {"z": tensor(3 * rng.standard_normal((*leading, D)))}


LAYOUTS = ((), (B,), (B, S, 2))

LIMITED = {"alpha": 1.702, "gate_limit": 1.0, "up_limit": 2.0, "shift_up": 1.0}
"""Options of swiglu that all matter."""


def options_of(name: str) -> dict[str, float]:
    """Options to call a function with."""
    return LIMITED if name == "swiglu" else {}


def in_dtype(tensors: Mapping[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """The same arguments, rounded to another dtype."""
    return {name: value.to(dtype) for name, value in tensors.items()}


def turned(value: Tensor) -> Tensor:
    """The same numbers, laid out in memory with the first two axes swapped."""
    return value.transpose(0, 1).contiguous().transpose(0, 1)
