"""Searches for the smallest number of multiples by bisection."""

from .config import ModelConfig


def _validate(sizes: dict) -> None:
    bad = {name: size for name, size in sizes.items() if not isinstance(size, int) or size < 1}
    if bad:
        raise ValueError(f"not a size: {bad}")


def _validate_cfg(cfg: ModelConfig) -> None:
    _validate({name: getattr(cfg, name) for name in "VDLNKHF"})
    if cfg.N % cfg.K:
        raise ValueError(f"N={cfg.N} is not a multiple of K={cfg.K}")


def swiglu_ffn_dim(d_model: int, multiple_of: int = 256) -> int:
    _validate({"d_model": d_model, "multiple_of": multiple_of})
    low, high = 0, 8 * d_model
    while low < high:
        middle = (low + high) // 2
        if 3 * middle * multiple_of >= 8 * d_model:
            high = middle
        else:
            low = middle + 1
    return low * multiple_of


def ffn_params(d_model: int, d_ff: int, *, gated: bool) -> int:
    _validate({"d_model": d_model, "d_ff": d_ff})
    up = d_model * d_ff
    down = d_ff * d_model
    gate = d_model * d_ff if gated else 0
    return gate + up + down


def attention_params(cfg: ModelConfig) -> int:
    _validate_cfg(cfg)
    q_dim = cfg.N * cfg.H
    kv_dim = cfg.K * cfg.H
    return cfg.D * (q_dim + 2 * kv_dim) + q_dim * cfg.D


def block_params(cfg: ModelConfig) -> int:
    _validate_cfg(cfg)
    parts = {
        "attention": attention_params(cfg),
        "ffn": ffn_params(cfg.D, cfg.F, gated=True),
        "norms": 2 * cfg.D,
    }
    return sum(parts.values())


def model_params(cfg: ModelConfig) -> int:
    _validate_cfg(cfg)
    tables = 1 if cfg.tie_embeddings else 2
    final_norm = cfg.D
    return tables * cfg.V * cfg.D + cfg.L * block_params(cfg) + final_norm
