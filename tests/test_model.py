"""The given pre-norm block on your own parts (M6 §4): it is causal, and silent branches leave the stream as it is.

No points hang on these. They need rmsnorm, swiglu and placement, and are skipped while one of them is unwritten.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from nanolm import checks
from tests.inputs import B, S, tensor
from tests.ungraded import Call, bridge, call

__all__ = ["call"]

SIZES = {"V": 11, "D": 12, "L": 1, "N": 6, "K": 2, "H": 5, "F": 17}
"""A block whose every size differs: N·H is not D, and three query heads share a key/value head."""


def stream(rng: np.random.Generator) -> Tensor:
    """x: [B, S, D]."""
    return tensor(rng.standard_normal((B, S, SIZES["D"])))


def test_block_is_causal(call: Call, rng: np.random.Generator) -> None:
    """A token's output depends on itself and on the tokens before it."""
    x = stream(rng)
    later = x.clone()
    later[:, 2:] += tensor(rng.standard_normal((B, S - 2, SIZES["D"])))
    with bridge():
        y, changed = (call("placement", "pre_norm_block", {"x": one}, SIZES).tensors["y"] for one in (x, later))
        checks.shape(y, x.shape, of="Block(cfg)(x)")
        checks.close(
            changed[:, :2],
            y[:, :2],
            atol=1e-5,
            rtol=0.0,
            of="the output of tokens 0 and 1, when only later tokens change,",
        )
    assert (changed[:, 2:] - y[:, 2:]).abs().amax(-1).min() > 1e-3


def test_block_mixes_earlier_tokens_into_later_ones(call: Call, rng: np.random.Generator) -> None:
    """The last token notices a change of the first: attention is what carries it."""
    x = stream(rng)
    earlier = x.clone()
    earlier[:, 0] += tensor(rng.standard_normal((B, SIZES["D"])))
    with bridge():
        y, changed = (call("placement", "pre_norm_block", {"x": one}, SIZES).tensors["y"] for one in (x, earlier))
    assert (changed[:, -1] - y[:, -1]).abs().amax(-1).min() > 1e-4


def test_block_with_silent_branches_is_the_identity(call: Call, rng: np.random.Generator) -> None:
    """With both output projections at zero nothing is added, and pre-norm leaves x itself, to the last bit."""
    x = stream(rng)
    with bridge():
        y = call("placement", "pre_norm_block", {"x": x}, {**SIZES, "silent": True}).tensors["y"]
        checks.close(y, x.double().numpy(), atol=0.0, rtol=0.0, of="a block whose branches add zero")


def test_block_holds_what_the_ledger_counts(call: Call) -> None:
    """Its parameters are those that block_params(cfg) counts (M6 §10)."""
    with bridge():
        held = call("placement", "pre_norm_block", {"x": torch.zeros(1, 1, SIZES["D"])}, SIZES).facts["parameters"]
        counted = call("budget", "block_params", {}, SIZES).facts["value"]
        checks.equal(counted, held, of="block_params(cfg), beside what the block really holds,")
