"""Probes of `budget.py`.

A count is exact, so it is read in groups of digits that single precision holds exactly. The sizes of the ledger's
probes are powers of ten apart: each line of the ledger then has decimal places of its own, and a probe reads one line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from nanolm.probes.probe import Array, Probe
from nanolm.protocol import Call, Reply, Scalar

DIGITS = 10**6

HEAD = 10**6
PLACES = 12
LEDGER: Mapping[str, Scalar] = {"V": 1000, "D": 8 * HEAD, "L": 2, "N": 8, "K": 2, "H": HEAD, "F": 1000}
"""A block is D times (H-digits, F-digits, norms), what is outside the blocks D times (V-digits, final norm)."""

PLAIN: Mapping[str, Scalar] = {"V": 101, "D": 12, "L": 2, "N": 3, "K": 3, "H": 4, "F": 17}
"""K = N and N · H = D: what is done to K, and where H comes from, cannot be seen."""


def _digits(value: object) -> tuple[str, Array]:
    """A whole number in groups of six digits, with its sign; a float in six digits and its power of two."""
    if isinstance(value, float):
        fraction, power = math.frexp(value)
        return "float", np.array([round(fraction * DIGITS), power], dtype=np.float64)
    if type(value) is not int:
        return type(value).__name__, np.zeros(0)
    groups, left = [], abs(value)
    while left:
        left, group = divmod(left, DIGITS)
        groups.append(float(group) if value > 0 else -float(group))
    return "int", np.array(groups)


def count(reply: Reply) -> tuple[str, Array]:
    """The count itself."""
    return _digits(reply.facts["value"])


def _place(low: int, high: int, *, of: str) -> Callable[[Reply], tuple[str, Array]]:
    """Reads decimal places [low, high) of the quotient by D of a count; `of` one layer, or of what is outside them."""

    def read(reply: Reply) -> tuple[str, Array]:
        value, width = reply.facts["value"], LEDGER["D"]
        assert isinstance(value, int)
        assert isinstance(width, int)
        if of != "count":
            one_more = reply.facts["next"]
            assert isinstance(one_more, int)
            layer = one_more - value
            value = layer if of == "layer" else value - 2 * layer
        quotient, rest = divmod(value, width)
        if rest or not 0 <= quotient < 10**PLACES:
            return "no such ledger", np.zeros(0)  # one place of an arbitrary number would look like some mistake's
        return _digits(quotient // 10**low % 10 ** (high - low))

    return read


def raised(reply: Reply) -> tuple[str, Array]:
    """How an argument was refused, or that it was not."""
    return f"raised {reply.facts['raised']}", np.zeros(0)


def _probe(
    name: str,
    entry: str,
    scalars: Mapping[str, Scalar],
    read: Callable[[Reply], tuple[str, Array]] = count,
    **changed: Scalar,
) -> Probe:
    return Probe(name, lambda: Call(entry, {}, {**scalars, **changed}), read, rtol=0.0, atol=0.25)


def _width(name: str, d_model: int, multiple_of: int | None = None) -> Probe:
    return _probe(
        name,
        "swiglu_ffn_dim",
        {"d_model": d_model} | ({} if multiple_of is None else {"multiple_of": multiple_of}),
    )


def _refusal(name: str, function: str, scalars: Mapping[str, Scalar], **changed: Scalar) -> Probe:
    return _probe(name, "budget_refusal", scalars, raised, function=function, **changed)


_WIDTH: Mapping[str, Scalar] = {"d_model": 4096, "multiple_of": 256}
_FFN: Mapping[str, Scalar] = {"d_model": 64, "d_ff": 96, "gated": True}

BUDGET = (
    _width("a multiple already", 768, 256),
    _width("another multiple already", 300, 100),
    _width("a third of a multiple above", 2048, 256),
    _width("two thirds of a multiple above", 1024, 256),
    _width("default multiple", 640),
    _width("multiples of 100", 512, 100),
    _width("multiples of 1", 512, 1),
    _width("multiples of 2", 1024, 2),
    _width("huge", 3 * 2**60 + 1, 1),
    _width("huge multiples", 10**30 + 7, 256),
    _probe("gated FFN", "ffn_params", {"d_model": 5, "d_ff": 7, "gated": True}),
    _probe("ungated FFN", "ffn_params", {"d_model": 5, "d_ff": 7, "gated": False}),
    _probe("attention", "attention_params", PLAIN),
    _probe("attention with grouped queries", "attention_params", PLAIN, N=6, K=3, D=24),
    _probe("attention with wide heads", "attention_params", PLAIN, H=7),
    _probe("heads of a block", "block_params", LEDGER, _place(6, PLACES, of="count")),
    _probe("matrices of a block", "block_params", LEDGER, _place(3, 6, of="count")),
    _probe("norms of a block", "block_params", LEDGER, _place(0, 3, of="count")),
    _probe("heads of a layer", "model_growth", LEDGER, _place(6, PLACES, of="layer")),
    _probe("matrices of a layer", "model_growth", LEDGER, _place(3, 6, of="layer")),
    _probe("norms of a layer", "model_growth", LEDGER, _place(0, 3, of="layer")),
    _probe("tables", "model_growth", LEDGER, _place(3, PLACES, of="outside")),
    _probe("tables when tied", "model_growth", LEDGER, _place(3, PLACES, of="outside"), tie_embeddings=True),
    _probe("final norm", "model_growth", LEDGER, _place(0, 3, of="outside")),
    _refusal("width of 0", "swiglu_ffn_dim", _WIDTH, d_model=0),
    _refusal("float width", "swiglu_ffn_dim", _WIDTH, d_model=4096.0),
    _refusal("FFN of 0", "ffn_params", _FFN, d_ff=0),
    _refusal("float FFN", "ffn_params", _FFN, d_ff=96.0),
    _refusal("negative heads", "attention_params", PLAIN, H=-4),
    _refusal("float heads", "attention_params", PLAIN, H=4.0),
    _refusal("ragged heads", "attention_params", PLAIN, N=3, K=2),
    _refusal("vocabulary of 0", "model_params", PLAIN, V=0),
    _refusal("float vocabulary", "model_params", PLAIN, V=101.0),
)
