"""Extra optional arguments: biases, and another kind of FFN."""

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
    blocks = -((-8 * d_model) // (3 * multiple_of))
    return blocks * multiple_of


def ffn_params(d_model: int, d_ff: int, *, gated: bool, bias: bool = False) -> int:
    _validate({"d_model": d_model, "d_ff": d_ff})
    count = (3 if gated else 2) * d_model * d_ff
    if bias:
        count += d_model + (2 if gated else 1) * d_ff
    return count


def attention_params(cfg: ModelConfig) -> int:
    _validate_cfg(cfg)
    q_dim = cfg.N * cfg.H
    kv_dim = cfg.K * cfg.H
    return cfg.D * (q_dim + 2 * kv_dim) + q_dim * cfg.D


def block_params(cfg: ModelConfig, gated: bool = True, norms: int = 2) -> int:
    _validate_cfg(cfg)
    return attention_params(cfg) + ffn_params(cfg.D, cfg.F, gated=gated) + norms * cfg.D


def model_params(cfg: ModelConfig) -> int:
    _validate_cfg(cfg)
    tables = 1 if cfg.tie_embeddings else 2
    final_norm = cfg.D
    return tables * cfg.V * cfg.D + cfg.L * block_params(cfg) + final_norm
