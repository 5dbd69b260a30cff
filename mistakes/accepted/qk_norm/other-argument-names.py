"""Calls its arguments otherwise, and takes optional ones more."""


def l2_qk_scores(queries, keys, scale, epsilon=1e-6, dim=-1):
    queries = queries / queries.norm(dim=dim, keepdim=True).clamp(min=epsilon)
    keys = keys / keys.norm(dim=dim, keepdim=True).clamp(min=epsilon)
    return scale * (queries @ keys.mT)


def per_head_rms_norm(x, weight, epsilon=1e-6, *, axis=-1):
    wide = x.float()
    wide = wide * (wide.pow(2).mean(axis, keepdim=True) + epsilon).pow(-0.5)
    return weight * wide.to(x.dtype)


def full_width_rms_norm(x, weight, heads, epsilon=1e-6):
    return per_head_rms_norm(x, weight, epsilon).reshape(*x.shape[:-1], heads, -1)


def soft_cap(logits, limit=50.0):
    if limit <= 0:
        raise ValueError("limit")
    return limit * (logits / limit).tanh()
