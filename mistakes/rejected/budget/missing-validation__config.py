"""The width and the FFN are checked, the fields of the config are not.

Why people make it: a config looks like something that has been checked already when it
was made.
"""

from .config import ModelConfig


def _check(*sizes):
    for size in sizes:
        if not isinstance(size, int) or size <= 0:
            raise ValueError(f"sizes must be positive integers, got {size}")


def swiglu_ffn_dim(d_model: int, multiple_of: int = 256) -> int:
    _check(d_model, multiple_of)
    step = 3 * multiple_of
    return (8 * d_model + step - 1) // step * multiple_of


def ffn_params(d_model: int, d_ff: int, *, gated: bool) -> int:
    _check(d_model, d_ff)
    matrices = 3 if gated else 2
    return matrices * d_model * d_ff


def attention_params(cfg: ModelConfig) -> int:
    q_and_o = 2 * cfg.D * cfg.N * cfg.H
    k_and_v = 2 * cfg.D * cfg.K * cfg.H
    return q_and_o + k_and_v


def block_params(cfg: ModelConfig) -> int:
    return attention_params(cfg) + 3 * cfg.D * cfg.F + 2 * cfg.D


def model_params(cfg: ModelConfig) -> int:
    embeddings = cfg.V * cfg.D
    if not cfg.tie_embeddings:
        embeddings *= 2
    return embeddings + cfg.L * block_params(cfg) + cfg.D
