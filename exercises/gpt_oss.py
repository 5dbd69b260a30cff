"""Exercise gpt_oss: the clamped SwiGLU of gpt-oss, from one packed projection (M6 §9, §15).

Letters: F FFN width; `[..., 2F]` is any number of leading axes, none too. Output dtype = input dtype, inputs are not
modified and may be non-contiguous, gradients reach `packed`.

From scratch: nothing of torch is this answer, so everything elementary and `F.silu` are allowed. Ways round the rule of
the other exercises (`exec`, `eval`, `importlib`, `torch.ops`, …) make this one `forbidden` too, wherever this file
names them.

Check: `NANOLM_IMPL=exercises pytest -k gpt_oss -v`
"""

from __future__ import annotations

import torch
from torch import Tensor


def split_gate_up(packed: Tensor) -> tuple[Tensor, Tensor]:
    """The two branches of a packed projection whose features are interleaved (M6 §15).

    `gate = packed[..., ::2]`, `up = packed[..., 1::2]`

    One matrix computes both branches, and feature 2i of its output is the gate whose up value is feature 2i + 1. Other
    models pack the same numbers as two halves: the shapes are the same, the function is not.

    Worked number: (10, 20, 11, 21, 12, 22) holds the gates (10, 11, 12) and the up values (20, 21, 22).

    packed: [..., 2F] → gate: [..., F], up: [..., F], same dtype as packed; views of packed are right.
    """
    raise NotImplementedError("gpt_oss: gates stand at the even features, up values at the odd ones")


def clamped_swiglu(packed: Tensor, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    """The activation of gpt-oss's experts, between the packed projection and the projection back to D (M6 §9, §15).

    `gate * sigmoid(alpha * gate) * (up + 1)`, after `gate` was clamped to at most limit and `up` to -limit … limit

    The gate is clamped above only: far below zero its factor vanishes by itself. The up branch is shifted by one after
    its clamp, so that up = 0 lets the gate's own curve through. Beyond a clamp the gradient is zero.

    Worked numbers: the pair (3, -10) at limit = 2 gives 2 · 0.9678 · (-2 + 1) = -1.936. With the defaults the pairs
    (7, 7) and (9, 9) both give 56.0.

    packed: [..., 2F], interleaved as in `split_gate_up`; alpha and limit are floats → [..., F], same dtype as packed.
    """
    raise NotImplementedError("gpt_oss: split, clamp the gate above and up on both sides, shift up, multiply")
