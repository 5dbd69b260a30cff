"""Exercise budget: how wide a gated FFN should be, and how many parameters a model has (M6 §9, §10; W6).

Letters: V vocabulary, D model width, L layers, N query heads, K key/value heads, H head width, F FFN width; they are
the fields of `ModelConfig` in config.py, which is given and checks nothing. No map has a bias.

Everything here is whole numbers: a result is an `int`, never 1024.0, and it is exact for sizes of any length. Floats
cannot do that: above 2⁵³ they skip whole numbers.

Every function raises ValueError when a size that it counts with is 0, negative or a float (4096.0 too), and when N is
not a multiple of K.

From scratch: ways round the rule (`exec`, `eval`, `importlib`, …) make the exercise `forbidden`; there is nothing else
to avoid.

Check: `NANOLM_IMPL=exercises pytest tests/test_budget.py -v`
"""

from __future__ import annotations

from .config import ModelConfig


def _require_sizes(**sizes: int) -> None:
    """ValueError that names the first size which is not a whole number above zero.

    A help for the functions below, `_require_sizes(d_model=d_model)`; nothing tests it by itself.
    """
    raise NotImplementedError("budget: refuse every size that is not a whole number above zero")


def swiglu_ffn_dim(d_model: int, multiple_of: int = 256) -> int:
    """The FFN width of a SwiGLU that costs as much as an ungated FFN of width 4D (M6 §9, W6).

    Three matrices instead of two leave 8D/3 for each. The result is the smallest multiple of `multiple_of` that is not
    below 8D/3, where 8D/3 is the exact fraction, not a number that has already been rounded.

    Worked numbers: 4096 → 11008; 384 → 1024, since 8 · 384 / 3 is a multiple already; 512 with `multiple_of=1` → 1366.
    """
    raise NotImplementedError("budget: the smallest multiple that reaches 8D/3, in exact whole numbers")


def ffn_params(d_model: int, d_ff: int, *, gated: bool) -> int:
    """Parameters of one FFN between width D and width F: three matrices where it is gated, else two (M6 §9).

    Worked number: D = 4096, F = 14336, gated → 176_160_768.
    """
    raise NotImplementedError("budget: count the matrices of one FFN")


def attention_params(cfg: ModelConfig) -> int:
    """Parameters of one attention with grouped queries: maps to queries, keys and values, and the output map (M6 §10).

    Queries and output have N heads of width H, keys and values have K. H is a size of its own: N · H need not be D.

    Worked number: Llama-3.1-8B (D = 4096, N = 32, K = 8, H = 128) → 41_943_040.
    """
    raise NotImplementedError("budget: count the four maps of one attention")


def block_params(cfg: ModelConfig) -> int:
    """Parameters of one block: attention, gated FFN of width F, and the scales of its two norms (M6 §10).

    Worked number: Llama-3.1-8B → 218_112_000.
    """
    raise NotImplementedError("budget: add up one block")


def model_params(cfg: ModelConfig) -> int:
    """Parameters of the whole model: embeddings, L blocks and the scale of the final norm (M6 §10).

    The input embedding and the output head have V · D each; with `tie_embeddings` they are one matrix. Positions are
    rotary and cost nothing.

    Worked numbers: Llama-3.1-8B (V = 128256, L = 32, F = 14336) → 8_030_261_248; were it tied, 7_504_924_672.
    """
    raise NotImplementedError("budget: add up the whole model")
