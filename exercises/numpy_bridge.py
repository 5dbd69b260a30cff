"""Exercise numpy_bridge: the parts of a block once more, as bare arithmetic on arrays (M6 §5, §8, §9, §13).

Letters: D model width, F FFN width; `[..., D]` is any number of leading axes, none too. Tokens are rows, so weights
multiply on the right: `w_gate: [D, F]`. Arguments are floating-point arrays, results are arrays too; no argument is
modified.

From scratch: NumPy and Python's standard library, nothing else. PyTorch would do all of this by itself and makes the
exercise `forbidden`, wherever this file names or imports it; so do ways round the rule (`exec`, `eval`, `importlib`,
…). SciPy is not installed. A RuntimeWarning of NumPy costs nothing as long as the number is right.

Check: `NANOLM_IMPL=exercises pytest tests/test_numpy_bridge.py -v`
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def _checked(x: Array, eps: float, **parameters: Array | None) -> Array:
    """x as an array, once it and what a norm was given with it are known to be usable; else ValueError.

    A help for the two norms, `_checked(x, eps, gamma=gamma)`; nothing tests it by itself.
    """
    raise NotImplementedError("numpy_bridge: refuse what cannot be normalised")


def rms_norm(x: Array, gamma: Array | None = None, eps: float = 1e-6) -> Array:
    """Root-mean-square normalisation over the last axis (M6 §5): x: [..., D], gamma: [D] → [..., D], same dtype.

    `x / sqrt(mean(x², last axis) + eps) * gamma`, no gain where gamma is None.

    float16 is widened to float32 *before* squaring (300² does not fit into float16), float64 keeps its precision.

    Worked number: (2, -1, 3, 0) → about (1.069, -0.535, 1.604, 0).

    Raises ValueError for a 0-d x or an empty last axis, for NaN or infinity in x, for an eps that is not finite or not
    above zero, and for a gamma whose shape is not [D].
    """
    raise NotImplementedError("numpy_bridge: divide each row by its root mean square and apply gamma")


def layer_norm(x: Array, gamma: Array | None = None, beta: Array | None = None, eps: float = 1e-6) -> Array:
    """Layer normalisation over the last axis (M6 §5): x: [..., D], gamma and beta: [D] → [..., D], same dtype.

    `(x - mean) / sqrt(variance + eps) * gamma + beta`, no gain where gamma is None, no shift where beta is None. The
    variance is the mean of the squared distances from the mean: the divisor is D. Precision as in `rms_norm`.

    Worked number: (2, -1, 3, 0) → about (0.632, -1.265, 1.265, -0.632).

    Raises ValueError as `rms_norm` does, for the shape of beta too.
    """
    raise NotImplementedError("numpy_bridge: centre each row, divide it by its standard deviation, then gamma and beta")


def stable_sigmoid(z: Array) -> Array:
    """The logistic function 1 / (1 + e^(-z)) of each element (M6 §8, §13): z of any shape → the same shape.

    Right up to ±10000 in every float dtype, and to 1e-12 in float64.

    Worked number: z = log 3 gives 3/4.
    """
    raise NotImplementedError("numpy_bridge: evaluate the logistic function without an exponential that overflows")


def silu(z: Array) -> Array:
    """`z * sigmoid(z)` of each element (M6 §8): z of any shape → the same shape; precise as `stable_sigmoid` is.

    Worked number: 2 → 1.7616, -2 → -0.2384.
    """
    raise NotImplementedError("numpy_bridge: weight each element by its sigmoid")


def gelu(z: Array) -> Array:
    """`z * Φ(z)` of each element, Φ the distribution function of the standard normal (M6 §8): the same shape.

    Exact, to 1e-12 in float64: the tanh formula and short polynomials for the error function are too coarse.

    Worked number: 1 → 0.841344746, -1 → -0.158655254.
    """
    raise NotImplementedError("numpy_bridge: weight each element by the exact distribution function")


def gelu_sigmoid(z: Array) -> Array:
    """`z * sigmoid(1.702 z)` of each element, the approximation that gpt-oss gates with (M6 §8, §9): the same shape.

    Worked number: it is off from `gelu` by up to 0.0203.
    """
    raise NotImplementedError("numpy_bridge: weight each element by the sigmoid that imitates Φ")


def swiglu(
    gate: Array,
    up: Array,
    *,
    alpha: float = 1.0,
    gate_limit: float | None = None,
    up_limit: float | None = None,
    shift_up: float = 0.0,
) -> Array:
    """The product of a gate and an up branch, with the options of gpt-oss (M6 §9): gate, up: [...] → [...].

    `gate * sigmoid(alpha * gate) * (up + shift_up)`

    Before that the gate is clamped to at most `gate_limit`, with no limit below, and up to ±`up_limit`; None leaves it
    as it is. Finite and right for gates up to ±10000.

    Worked number: gate = up = 9 with alpha 1.702, both limits 7 and shift 1 gives about 56, like gate = up = 7.

    Raises ValueError for branches of different shapes, for NaN or infinity in them or in an option, and for a limit
    that is not above zero.
    """
    raise NotImplementedError("numpy_bridge: check what is given, clamp, then let the gate weight the up branch")


def swiglu_mlp(x: Array, w_gate: Array, w_up: Array, w_down: Array) -> Array:
    """The feed-forward network around `swiglu` (M6 §13): x: [..., D], w_gate, w_up: [D, F], w_down: [F, D] → [..., D].

    Plain SwiGLU without options or biases. Rows are tokens: these matrices are transposes of what nn.Linear stores.
    """
    raise NotImplementedError("numpy_bridge: project, gate, project back")
