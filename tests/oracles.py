"""Independent references: NumPy float64 and closed forms, never a torch module, never a student's code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rms_norm_rows(x_BD: Array, gamma_D: Array, eps: float) -> Array:
    """RMS normalisation of each row with a gain (M6 §5): x: [..., D] → [..., D]."""
    energy = np.einsum("...d,...d->...", x_BD, x_BD) / x_BD.shape[-1]
    return np.einsum("...d,...,d->...d", x_BD, (energy + eps) ** -0.5, gamma_D)


def rms_norm_gradients(x_BD: Array, gamma_D: Array, eps: float, upstream_BD: Array) -> dict[str, Array]:
    """Closed-form gradients of sum(upstream · y) with respect to x: [..., D] and gamma: [D].

    With r = (mean x² + eps)^(-1/2) and a = upstream · gamma: dx = r·a − r³·x·mean(a·x), dgamma = Σ upstream · x · r.
    """
    width = x_BD.shape[-1]
    r = (np.einsum("...d,...d->...", x_BD, x_BD) / width + eps)[..., None] ** -0.5
    a = upstream_BD * gamma_D
    along = np.einsum("...d,...d->...", a, x_BD)[..., None] / width
    dgamma = (upstream_BD * x_BD * r).reshape(-1, width).sum(axis=0)
    return {"x": r * a - r**3 * x_BD * along, "gamma": dgamma}


def logistic(z: Array) -> Array:
    """1 / (1 + e^(-z)), by the identity with tanh: finite for every z."""
    return 0.5 * (1.0 + np.tanh(0.5 * z))


def gated_ffn(x: Array, w_gate_FD: Array, w_up_FD: Array, w_down_DF: Array) -> Array:
    """The gated FFN with a SiLU gate (M6 §8): x: [..., D] → [..., D]; matrices in nn.Linear's layout."""
    gate, up = _project(x, w_gate_FD), _project(x, w_up_FD)
    return _project(gate * logistic(gate) * up, w_down_DF)


def gated_ffn_gradients(
    x: Array, w_gate_FD: Array, w_up_FD: Array, w_down_DF: Array, upstream: Array
) -> dict[str, Array]:
    """Closed-form gradients of sum(upstream · y) with respect to x: [..., D] and the three matrices."""
    gate, up = _project(x, w_gate_FD), _project(x, w_up_FD)
    sigma = logistic(gate)
    hidden = upstream @ w_down_DF
    d_gate = hidden * up * (sigma + gate * sigma * (1.0 - sigma))
    d_up = hidden * gate * sigma
    return {
        "x": d_gate @ w_gate_FD + d_up @ w_up_FD,
        "w_gate": _over_tokens(d_gate, x),
        "w_up": _over_tokens(d_up, x),
        "w_down": _over_tokens(upstream, gate * sigma * up),
    }


def _project(x: Array, weight_FD: Array) -> Array:
    """x: [..., D] → [..., F], the matrix in nn.Linear's layout; einsum gives arrays, so no tensor passes through."""
    outcome: Array = np.einsum("...d,fd->...f", x, weight_FD)
    return outcome


def _over_tokens(left: Array, right: Array) -> Array:
    """Σ over all tokens of left ⊗ right: [..., P], [..., Q] → [P, Q]."""
    return left.reshape(-1, left.shape[-1]).T @ right.reshape(-1, right.shape[-1])
