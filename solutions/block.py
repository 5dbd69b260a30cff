"""Exercise placement: where the norms of a Transformer block stand (M6 §4, §6; W6).

Letters: D model width, L layers; `[..., D]` is any number of leading axes, none too. `attn`, `ffn` and every norm are
callables `[..., D] -> [..., D]`, functions or modules; a step calls each of its own exactly once, with one tensor, by
position, in the input's dtype. Output dtype = input dtype, inputs are not modified, gradients reach x and whatever the
callables learn.

From scratch: everything in torch is allowed here. Ways round the tests (`exec`, `eval`, `importlib`, …) make
the exercise `forbidden`, wherever this file names them.

Check: `NANOLM_IMPL=exercises pytest tests/test_block.py -k placement -v`
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Sublayer = Callable[[Tensor], Tensor]
"""Attention, an FFN or a norm, as a block sees it: [..., D] -> [..., D]."""


def pre_norm_step(x: Tensor, attn: Sublayer, ffn: Sublayer, norm1: Sublayer, norm2: Sublayer) -> Tensor:
    """A pre-norm block (M6 §6; W6): x: [..., D] → [..., D], same dtype.

    Two residual updates, attention's and then the FFN's. Each sublayer reads the stream through a norm of its own,
    norm1 and norm2, and what it returns is added to the stream as it was before the norm: the stream itself is never
    normalised. The FFN reads, and its result is added to, the stream that already holds attention's update.

    Worked number, with maps of numbers (D = 1): norm1 doubles and adds 1, norm2 triples and adds 2, attn multiplies by
    5, ffn by 7. From x = 1: attn sees 3 and returns 15, h is 16, ffn sees 50, and 366 leaves the block.
    """
    ### BEGIN SOLUTION placement: two residual updates, each computed from a normalised copy of the stream
    h = x + attn(norm1(x))
    return h + ffn(norm2(h))
    ### END SOLUTION


def post_norm_step(x: Tensor, attn: Sublayer, ffn: Sublayer, norm1: Sublayer, norm2: Sublayer) -> Tensor:
    """A post-norm block, as in 2017 (M6 §6; W6): x: [..., D] → [..., D], same dtype.

    Each sublayer reads the stream as it is, its result is added to what it read, and the sum is normalised: norm1 after
    attention, norm2 after the FFN. Even the residual path passes through both norms.

    Worked number, with the maps of `pre_norm_step`: from x = 1 the first sum is 6, h is 13, the second sum 104, and 314
    leaves the block.
    """
    ### BEGIN SOLUTION placement: two residual sums, each normalised as a whole
    h = norm1(x + attn(x))
    return norm2(h + ffn(h))
    ### END SOLUTION


def peri_norm_step(
    x: Tensor, attn: Sublayer, ffn: Sublayer, in1: Sublayer, out1: Sublayer, in2: Sublayer, out2: Sublayer
) -> Tensor:
    """A Peri-LN block (M6 §4, §6): x: [..., D] → [..., D], same dtype.

    As a pre-norm block, with a second norm round each sublayer: in1 and in2 normalise what attention and the FFN read,
    out1 and out2 what they return, before it is added to the stream. The stream itself is never normalised.

    Worked number: in1 doubles and adds 1, out1 triples and adds 2, in2 adds 1, out2 doubles and subtracts 3, attn
    multiplies by 5, ffn by 7. From x = 1: attn returns 15, out1 makes 47 of it, h is 48, ffn returns 343, out2 makes
    683 of it, and 731 leaves the block.
    """
    ### BEGIN SOLUTION placement: two residual updates, normalised on their way in and on their way out
    h = x + out1(attn(in1(x)))
    return h + out2(ffn(in2(h)))
    ### END SOLUTION


def output_norm_step(x: Tensor, attn: Sublayer, ffn: Sublayer, out1: Sublayer, out2: Sublayer) -> Tensor:
    """An output-norm block, as in OLMo2 (M6 §6): x: [..., D] → [..., D], same dtype.

    Each sublayer reads the stream as it is; what it returns is normalised, by out1 after attention and by out2 after
    the FFN, and then added to the stream. The stream itself is never normalised, and no norm stands before a
    sublayer.

    Worked number: out1 triples and adds 2, out2 doubles and subtracts 3, attn multiplies by 5, ffn by 7. From x = 1:
    attn returns 5, out1 makes 17 of it, h is 18, ffn returns 126, out2 makes 249 of it, and 267 leaves the block.
    """
    ### BEGIN SOLUTION placement: two residual updates, each normalised before it is added
    h = x + out1(attn(x))
    return h + out2(ffn(h))
    ### END SOLUTION


def forward_scale(h0: Tensor, weights: Tensor, placement: str) -> Tensor:
    """The size of a linear residual stream, layer by layer (M6 §6): h0: [D], weights: [L, D, D] → [L].

    Entry l of the result is the RMS of the stream *after* step l, in the dtype of h0; float64 is worked in float64. One
    step with its own matrix W, which multiplies from the left (`W @ h`), is

        "none"  h + W h
        "pre"   h + W U(h)
        "post"  U(h + W h)

    `U(x) = x / max(RMS(x), 1e-12)` has no gain; its floor is not an added epsilon. Another placement is a `ValueError`.

    Worked number: with `numpy.random.default_rng(5)`, h0 of 256 standard normals drawn first, then 36 matrices of
    N(0, 1/256), the last entries are 412442.094 (none), 6.42348 (pre) and 1 (post).
    """
    ### BEGIN SOLUTION placement: take L steps, and measure the stream after each
    if placement not in ("none", "pre", "post"):
        raise ValueError(f"placement is 'none', 'pre' or 'post', not {placement!r}")

    def rms(x: Tensor) -> Tensor:
        return x.square().mean().sqrt()

    def unit(x: Tensor) -> Tensor:
        return x / rms(x).clamp(min=1e-12)

    h, scales = h0, []
    for W in weights:
        h = h + W @ (unit(h) if placement == "pre" else h)
        h = unit(h) if placement == "post" else h
        scales.append(rms(h))
    return torch.stack(scales)
    ### END SOLUTION
