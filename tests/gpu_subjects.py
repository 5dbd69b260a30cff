"""What runs on a GPU: seven entry points of five exercises, each with arguments, its oracle and its tolerances.

Oracles are float64 on the CPU. Sizes are small enough to be quick on a CPU too, and long enough for every reduction to
be cut into blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nanolm.protocol import Scalar
from tests import inputs, oracles, oracles_gpt_oss, oracles_hyper_connections, oracles_qk_norm, tolerances
from tests.inputs import exact, tensor
from tests.oracles import Array
from tests.tolerances import Tolerance

EPS = 1e-6
TOKENS = 64
WIDTH = 128
HEADS, HEAD = 4, 64
FFN = 192
TAU = 8.0
ALPHA, LIMIT = 1.702, 7.0
ROUNDS = 10

Arrays = Mapping[str, Array]


class Precision(NamedTuple):
    """A dtype of the arguments, its stored mantissa bits, and whether matrix products may use TF32."""

    name: str
    dtype: torch.dtype
    bits: int
    tf32: bool = False

    @property
    def half(self) -> bool:
        """bfloat16 or float16."""
        return self.dtype in (torch.bfloat16, torch.float16)


BFLOAT16 = Precision("bfloat16", torch.bfloat16, tolerances.BFLOAT16_BITS)
FLOAT16 = Precision("float16", torch.float16, tolerances.FLOAT16_BITS)
FLOAT32 = Precision("float32", torch.float32, 23)
TF32 = Precision("float32 with TF32", torch.float32, 23, tf32=True)
PRECISIONS = (BFLOAT16, FLOAT16, FLOAT32, TF32)


class Arguments(NamedTuple):
    """One call's tensors and scalars."""

    tensors: dict[str, Tensor]
    scalars: dict[str, Scalar]

    def exact(self) -> dict[str, Array]:
        """The tensors' own values in float64."""
        return {name: exact(value) for name, value in self.tensors.items()}


class Subject(NamedTuple):
    """One entry point. `rounded_once`: in half precision the result is the exact one, rounded once at the end.

    `reduction` and `scale` are what float32's tolerance is derived from; `size` is that of a half-precision result.
    """

    entry: str
    of: str
    draw: Callable[[np.random.Generator, torch.dtype, int], Arguments]
    expected: Callable[[Arrays], Array]
    pulled: Callable[[Arrays, Array], Arrays]
    rounded_once: bool
    reduction: int
    scale: float = 1.0
    size: float = 1.0
    pulled_scale: float = 8.0
    parameters: tuple[str, ...] = ()
    """What stays float32 in an autocast region, where linear maps narrow it."""
    promotion: str = ""
    """The mistake of an output that is float32 there and nowhere else."""
    narrowing: str = ""
    """The mistake of a value that is wrong there and nowhere else."""

    def tolerance(self, precision: Precision) -> Tolerance:
        """How far a result may be from the oracle's, where it is not a matter of one rounding."""
        if precision.half:
            return tolerances.loose_half(precision.bits, self.size)
        return tolerances.tf32(self.size) if precision.tf32 else tolerances.float32(self.reduction, self.scale)

    def pulled_tolerance(self, precision: Precision) -> Tolerance:
        """The same for a gradient, whose sums run over all tokens."""
        if precision.half:
            return tolerances.loose_half(precision.bits, self.pulled_scale)
        return tolerances.float32(self.reduction * TOKENS, self.scale)


def _rows(rng: np.random.Generator, dtype: torch.dtype, tokens: int, width: int) -> Tensor:
    """Rows of mean zero in any dtype; in float16 the first are so large that their squares do not fit (65504)."""
    half = inputs.centred_rows(rng, tokens, width // 2).to(dtype)
    x = torch.cat([half, -half], dim=-1)
    if dtype == torch.float16:
        signs = tensor(np.where(np.arange(width) % 2, -1.0, 1.0), dtype)
        x[0] = 300 * signs if tokens % 2 else 1000 * signs
    return x


def _gain(rng: np.random.Generator, dtype: torch.dtype, width: int) -> Tensor:
    """Ones in half precision, where another gain rounds once more; drawn elsewhere."""
    return inputs.gains(rng, width) if dtype == torch.float32 else inputs.ones(width, dtype)


def _norm(rng: np.random.Generator, dtype: torch.dtype, tokens: int) -> Arguments:
    tensors = {"x": _rows(rng, dtype, tokens, WIDTH)[None], "gamma": _gain(rng, dtype, WIDTH)}
    return Arguments(tensors, {"d_model": WIDTH, "eps": EPS})


RMS_NORM = Subject(
    "rms_norm",
    f"RMSNorm({WIDTH})",
    _norm,
    lambda a: oracles.rms_norm_rows(a["x"], a["gamma"], EPS),
    lambda a, up: oracles.rms_norm_gradients(a["x"], a["gamma"], EPS, up),
    rounded_once=True,
    reduction=WIDTH,
    promotion="rmsnorm-float32-constant",
    narrowing="rmsnorm-narrowed-statistics",
)


def _ffn(rng: np.random.Generator, dtype: torch.dtype, tokens: int) -> Arguments:
    drawn = inputs.random_ffn(rng, 1, tokens, d_model=WIDTH, d_ff=FFN)
    return Arguments({name: value.to(dtype) for name, value in drawn.items()}, {"d_model": WIDTH, "d_ff": FFN})


SWIGLU = Subject(
    "swiglu",
    f"SwiGLU({WIDTH}, {FFN})",
    _ffn,
    lambda a: oracles.gated_ffn(a["x"], a["w_gate"], a["w_up"], a["w_down"]),
    lambda a, up: oracles.gated_ffn_gradients(a["x"], a["w_gate"], a["w_up"], a["w_down"], up),
    rounded_once=False,
    reduction=WIDTH,
    parameters=("w_gate", "w_up", "w_down"),
    promotion="swiglu-float32-constant",
)


def _scores(rng: np.random.Generator, dtype: torch.dtype, tokens: int) -> Arguments:
    # Lengths between one half and three: nothing here is near float16's ends.
    q, k = (inputs.centred_rows(rng, 2, rows, HEAD).to(dtype) for rows in (tokens, 48))
    return Arguments({"q": q, "k": k, "tau": tensor(TAU, dtype)}, {"eps": EPS})


L2_SCORES = Subject(
    "l2_qk_scores",
    "l2_qk_scores",
    _scores,
    lambda a: oracles_qk_norm.cosine_scores(queries=a["q"], keys=a["k"], scale=float(a["tau"]), floor=EPS),
    lambda a, up: oracles_qk_norm.cosine_scores_gradients(
        queries=a["q"], keys=a["k"], scale=float(a["tau"]), upstream=up
    ),
    rounded_once=False,
    reduction=HEAD,
    scale=TAU / 4,
    size=TAU / 4,
)


def _heads(rng: np.random.Generator, dtype: torch.dtype, tokens: int) -> Arguments:
    q = _rows(rng, dtype, tokens * HEADS, HEAD).reshape(1, tokens, HEADS, HEAD)
    return Arguments({"q": q, "gamma": _gain(rng, dtype, HEAD)}, {"eps": EPS})


PER_HEAD = Subject(
    "per_head_rms_norm",
    "per_head_rms_norm",
    _heads,
    lambda a: oracles_qk_norm.head_rows(heads=a["q"], gain=a["gamma"], eps=EPS),
    lambda a, up: _renamed(oracles.rms_norm_gradients(a["q"], a["gamma"], EPS, up)),
    rounded_once=True,
    reduction=HEAD,
    scale=2.0,
    narrowing="qk_norm-narrowed-statistics",
)


def _projection(rng: np.random.Generator, dtype: torch.dtype, tokens: int) -> Arguments:
    width = HEADS * HEAD
    q = _rows(rng, dtype, tokens, width)[None]
    return Arguments({"q": q, "gamma": _gain(rng, dtype, width)}, {"n_heads": HEADS, "eps": EPS})


FULL_WIDTH = Subject(
    "full_width_rms_norm",
    "full_width_rms_norm",
    _projection,
    lambda a: oracles_qk_norm.token_rows(tokens=a["q"], gain=a["gamma"], n_heads=HEADS, eps=EPS),
    lambda a, up: _renamed(oracles.rms_norm_gradients(a["q"], a["gamma"], EPS, up.reshape(a["q"].shape))),
    rounded_once=True,
    reduction=HEADS * HEAD,
    narrowing="qk_norm-narrowed-statistics",
)


def _renamed(found: dict[str, Array]) -> Arrays:
    return {"q": found["x"], "gamma": found["gamma"]}


def _logits(rng: np.random.Generator, dtype: torch.dtype, tokens: int) -> Arguments:
    # No entry so small that float16 loses bits of it.
    return Arguments({"logits": tensor(rng.uniform(-1.8, 1.8, (tokens, 4, 4)), dtype)}, {"n_iters": ROUNDS})


SINKHORN = Subject(
    "sinkhorn",
    "sinkhorn",
    _logits,
    lambda a: oracles_hyper_connections.balanced(np.exp(a["logits"]), ROUNDS),
    lambda a, up: {"logits": oracles_hyper_connections.balanced_pullback(np.exp(a["logits"]), ROUNDS, up)},
    rounded_once=True,
    reduction=4 * ROUNDS,
    pulled_scale=1.0,
)


def _packed(rng: np.random.Generator, dtype: torch.dtype, tokens: int) -> Arguments:
    # Both sides of both limits; none so near to one that rounding to bfloat16 carries it across.
    sizes = rng.choice([0.3, 0.8, 1.3], (1, tokens, 2 * FFN)) + rng.uniform(-0.15, 0.15, (1, tokens, 2 * FFN))
    signs = rng.choice([-1.0, 1.0], sizes.shape)
    return Arguments({"packed": tensor(sizes * signs * LIMIT, dtype)}, {"alpha": ALPHA, "limit": LIMIT})


CLAMPED = Subject(
    "clamped_swiglu",
    "clamped_swiglu",
    _packed,
    lambda a: oracles_gpt_oss.bounded_product(features=a["packed"], slope=ALPHA, bound=LIMIT),
    lambda a, up: {
        "packed": oracles_gpt_oss.bounded_product_gradient(features=a["packed"], slope=ALPHA, bound=LIMIT, upstream=up)
    },
    rounded_once=False,
    reduction=16,
    scale=2.0,
    size=2.0,
)
