"""The flag for tied embeddings is ignored, and a gated FFN has two matrices.

Why people make it: both flags were left for later.
"""

from exercises.config import ModelConfig


def positive_int(value, name):
    if type(value) is not int:
        raise ValueError(f"{name} should be an integer")
    if value < 1:
        raise ValueError(f"{name} should be at least 1")
    return value


def swiglu_ffn_dim(d_model: int, multiple_of: int = 256) -> int:
    positive_int(d_model, "d_model")
    positive_int(multiple_of, "multiple_of")
    width, rest = divmod(8 * d_model, 3)
    if rest:
        width += 1
    return width + (-width) % multiple_of


def ffn_params(d_model: int, d_ff: int, *, gated: bool) -> int:
    return 2 * positive_int(d_model, "d_model") * positive_int(d_ff, "d_ff")


def attention_params(cfg: ModelConfig) -> int:
    for name in ("D", "N", "K", "H"):
        positive_int(getattr(cfg, name), name)
    if cfg.N % cfg.K:
        raise ValueError("query heads cannot be split into equal groups")
    w_q = cfg.D * cfg.N * cfg.H
    w_k = cfg.D * cfg.K * cfg.H
    w_v = cfg.D * cfg.K * cfg.H
    w_o = cfg.N * cfg.H * cfg.D
    return w_q + w_k + w_v + w_o


def block_params(cfg: ModelConfig) -> int:
    total = attention_params(cfg)
    total += ffn_params(cfg.D, cfg.ffn_dim, gated=True)
    total += cfg.D  # norm before attention
    total += cfg.D  # norm before the FFN
    return total


def model_params(cfg: ModelConfig) -> int:
    positive_int(cfg.V, "V")
    positive_int(cfg.L, "L")
    total = cfg.V * cfg.D
    for _ in range(cfg.L):
        total += block_params(cfg)
    total += cfg.D  # final norm
    total += cfg.D * cfg.V
    return total
