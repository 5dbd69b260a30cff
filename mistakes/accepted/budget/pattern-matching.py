"""Takes the config apart with match."""

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
    one_matrix = positive_int(d_model, "d_model") * positive_int(d_ff, "d_ff")
    if gated:
        return one_matrix * 3
    return one_matrix * 2


def attention_params(cfg: ModelConfig) -> int:
    match cfg:
        case ModelConfig(D=d, N=n, K=k, H=h):
            for value in (d, n, k, h):
                positive_int(value, "size")
            if n % k:
                raise ValueError("N must be a multiple of K")
            return 2 * d * h * (n + k)
    raise ValueError("not a ModelConfig")


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
    if not cfg.tie_embeddings:
        total += cfg.D * cfg.V
    return total
