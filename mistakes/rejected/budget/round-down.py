"""The width is the largest multiple that is not above 8D/3.

Why people make it: integer division twice looks like the natural way to get to a
multiple, and staying within the budget sounds thrifty.
"""

from .config import ModelConfig


def _check(*sizes):
    for size in sizes:
        if not isinstance(size, int) or size <= 0:
            raise ValueError(f"sizes must be positive integers, got {size}")


def _check_heads(cfg):
    _check(cfg.D, cfg.N, cfg.K, cfg.H)
    if cfg.N % cfg.K != 0:
        raise ValueError("N must be a multiple of K")


def swiglu_ffn_dim(d_model: int, multiple_of: int = 256) -> int:
    _check(d_model, multiple_of)
    exact = 8 * d_model // 3
    return exact // multiple_of * multiple_of


def ffn_params(d_model: int, d_ff: int, *, gated: bool) -> int:
    _check(d_model, d_ff)
    matrices = 3 if gated else 2
    return matrices * d_model * d_ff


def attention_params(cfg: ModelConfig) -> int:
    _check_heads(cfg)
    q_and_o = 2 * cfg.D * cfg.N * cfg.H
    k_and_v = 2 * cfg.D * cfg.K * cfg.H
    return q_and_o + k_and_v


def block_params(cfg: ModelConfig) -> int:
    norms = 2 * cfg.D
    return attention_params(cfg) + ffn_params(cfg.D, cfg.F, gated=True) + norms


def model_params(cfg: ModelConfig) -> int:
    _check(cfg.V, cfg.D, cfg.L)
    embeddings = cfg.V * cfg.D
    if not cfg.tie_embeddings:
        embeddings *= 2
    return embeddings + cfg.L * block_params(cfg) + cfg.D
