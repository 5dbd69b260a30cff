"""Exercise elementwise: two curves that take a norm's place and never look at a neighbour (M6 §11).

Letters: D model width; `[..., D]` is any number of leading axes, none too. Output dtype = input dtype, inputs are not
modified and may be non-contiguous, gradients reach the input and every parameter.

A norm divides by a statistic of the whole token. Here each output feature depends on its own input feature alone: the
parameters are all that features and tokens share.

From scratch: nothing in torch is the answer to this exercise; `torch.tanh`, `F.softplus` and everything elementary are
allowed. Ways round the rule (`exec`, `eval`, `importlib`, `torch.ops`, …) make the exercise `forbidden`.

Check: `NANOLM_IMPL=exercises pytest tests/test_elementwise.py -k elementwise -v`
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class DyT(nn.Module):
    """Dynamic Tanh: squash every feature by itself, then scale and shift it (M6 §11).

    `y = gamma * tanh(alpha * x) + beta`

    alpha is one learned number for all features: it says how soon the curve bends, and at a gain of ones it is the
    slope at zero. gamma and beta are learned feature by feature.

    Worked number: with alpha = 0.5, gamma = 1 and beta = 0, an input of 2 leaves as 0.762, one of 0.1 as 0.04996.

    Parameters: `alpha` (one number, of shape [] or [1], alpha0 at the start), `gamma: [D]` (ones), `beta: [D]` (zeros).
    """

    def __init__(self, d_model: int, alpha0: float = 0.5) -> None:
        """Create alpha, gamma: [D] and beta: [D]."""
        super().__init__()
        raise NotImplementedError("elementwise: create alpha, one number that starts at alpha0, then gamma and beta")

    def forward(self, x: Tensor) -> Tensor:
        """x: [..., D] → [..., D], same dtype."""
        raise NotImplementedError("elementwise: squash alpha times x, then scale and shift each feature")


class DyISRU(nn.Module):
    """Dynamic inverse square root unit: RMSNorm with its neighbours replaced by one learned number (M6 §11).

    `y = gamma * x / sqrt(b + x²) + beta` with `b = softplus(r)`, `softplus(r) = log(1 + exp(r))`

    b stands where the other features' squares stand in an RMS. An optimiser may move the free number r anywhere and b
    stays positive; a floor of at most 1e-6 under b is fine. At the start b is b0, so r is not: it is the number whose
    softplus is b0. At a gain of ones the slope at zero is 1/√b.

    Worked number: b0 = 4 asks for r = 3.9815; with gamma = 1 and beta = 0, an input of 2 then leaves as 0.707, one of
    0.1 as 0.04994, so the slope at zero is that of DyT with alpha = 0.5.

    Parameters: `r` (one number, of shape [] or [1]), `gamma: [D]` (ones), `beta: [D]` (zeros).
    """

    def __init__(self, d_model: int, b0: float = 4.0) -> None:
        """Create r, gamma: [D] and beta: [D]; b0 > 0."""
        super().__init__()
        raise NotImplementedError("elementwise: create r so that its softplus starts at b0, then gamma and beta")

    def forward(self, x: Tensor) -> Tensor:
        """x: [..., D] → [..., D], same dtype."""
        raise NotImplementedError("elementwise: divide x by its denominator, then scale and shift each feature")
