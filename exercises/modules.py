"""Exercises rmsnorm and swiglu: the normaliser and the feed-forward network of a modern block (M6 §5, §8; W6).

Letters: B batch, S context length, D model width, F FFN width; `[..., D]` is any number of leading axes, none too.
Output dtype = input dtype, inputs are not modified, gradients reach the input and the parameters.

From scratch: `nn.RMSNorm`, `F.rms_norm`, `torch.rms_norm`, `nn.LayerNorm`, `F.layer_norm` and their relatives are the
answer and make the exercise `forbidden`, wherever this file names them; so do ways round the rule (`exec`, `eval`,
`importlib`, `torch.ops`, …). `nn.Linear`, `F.silu` and everything elementary are allowed.

Check: `NANOLM_IMPL=exercises pytest tests/test_modules.py -k "rmsnorm or swiglu" -v`
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """Root-mean-square normalisation of each token, with a learned gain (M6 §5).

    `y = x / sqrt(mean(x², last axis) + eps) * gamma`

    The mean runs over the D features of one token: nothing is shared between tokens, and no mean is subtracted.
    float16 and bfloat16 are widened to float32 *before* squaring (300² does not fit into float16), and the result is
    cast back to the input's dtype.

    Worked number: x = (2, -1, 3, 0) has mean square 3.5; with gamma = 1 the output is about (1.069, -0.535, 1.604, 0).

    Parameters: only `gamma: [D]`, an nn.Parameter, ones at the start.
    """

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        """Keep eps and create gamma: [D]."""
        super().__init__()
        raise NotImplementedError("rmsnorm: keep eps and create gamma, one gain a feature")

    def forward(self, x: Tensor) -> Tensor:
        """x: [..., D] → [..., D], same dtype."""
        raise NotImplementedError("rmsnorm: divide each token by its root mean square and apply gamma")


class SwiGLU(nn.Module):
    """Feed-forward network with a SiLU gate (M6 §8).

    `y = w_down(silu(w_gate(x)) * w_up(x))` with `silu(z) = z * sigmoid(z)`

    The gate branch says how much of each channel passes, the up branch what passes. Value and gradient stay finite
    for gate values up to ±1e4 in float32. `d_ff` is used as it is given: choosing the width is the caller's business.
    (Other code calls these maps w1, w2, w3, each in its own order: here the names below decide.)

    Worked number: gates (2, -2) and up values (3, 3) give the products (5.28, -0.72) before `w_down`.

    Parameters: three nn.Linear maps without bias, `w_gate` and `w_up` from D to F, `w_down` from F to D.
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        """Create the three maps."""
        super().__init__()
        raise NotImplementedError("swiglu: create w_gate, w_up and w_down without bias")

    def forward(self, x: Tensor) -> Tensor:
        """x: [..., D] → [..., D], same dtype."""
        raise NotImplementedError("swiglu: let the gate decide how much of the up branch passes, then project back")
