"""No annotations, lambdas and one long expression."""


def _check(*sizes):
    for size in sizes:
        if not isinstance(size, int) or size <= 0:
            raise ValueError(f"sizes must be positive integers, got {size}")


def _check_heads(cfg):
    _check(cfg.D, cfg.N, cfg.K, cfg.H)
    if cfg.N % cfg.K != 0:
        raise ValueError("N must be a multiple of K")


def swiglu_ffn_dim(d_model, multiple_of=256):
    _check(d_model, multiple_of)
    return multiple_of * ((8 * d_model + 3 * multiple_of - 1) // (3 * multiple_of))


def ffn_params(d_model: int, d_ff: int, *, gated: bool) -> int:
    _check(d_model, d_ff)
    matrices = 3 if gated else 2
    return matrices * d_model * d_ff


def attention_params(cfg):
    _check_heads(cfg)
    return 2 * cfg.D * cfg.H * (cfg.N + cfg.K)


def block_params(cfg):
    _check(cfg.F)
    return attention_params(cfg) + 3 * cfg.D * cfg.F + 2 * cfg.D


def model_params(cfg):
    _check(cfg.V, cfg.L)
    tables = (lambda tied: 1 if tied else 2)(cfg.tie_embeddings)
    return tables * cfg.V * cfg.D + cfg.L * block_params(cfg) + cfg.D
