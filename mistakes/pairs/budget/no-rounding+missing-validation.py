"""The width is 8D/3 cut to a whole number, and nothing is checked.

Why people make it: the formulas of the course are typed in and the prose around them is
not read.
"""

from .config import ModelConfig


def swiglu_ffn_dim(d_model: int, multiple_of: int = 256) -> int:
    return 8 * d_model // 3


def ffn_params(d_model: int, d_ff: int, *, gated: bool) -> int:
    matrices = 3 if gated else 2
    return matrices * d_model * d_ff


def attention_params(cfg: ModelConfig) -> int:
    q_and_o = 2 * cfg.D * cfg.N * cfg.H
    k_and_v = 2 * cfg.D * cfg.K * cfg.H
    return q_and_o + k_and_v


def block_params(cfg: ModelConfig) -> int:
    norms = 2 * cfg.D
    return attention_params(cfg) + ffn_params(cfg.D, cfg.F, gated=True) + norms


def model_params(cfg: ModelConfig) -> int:
    embeddings = cfg.V * cfg.D
    if not cfg.tie_embeddings:
        embeddings *= 2
    return embeddings + cfg.L * block_params(cfg) + cfg.D
