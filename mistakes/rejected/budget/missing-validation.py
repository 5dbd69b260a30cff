"""Nothing is checked: every argument is counted with as it is.

Why people make it: the formulas are the exercise, and arguments that make no sense are
the problem of the caller.
"""

from .config import ModelConfig


def swiglu_ffn_dim(d_model: int, multiple_of: int = 256) -> int:
    step = 3 * multiple_of
    return (8 * d_model + step - 1) // step * multiple_of


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
