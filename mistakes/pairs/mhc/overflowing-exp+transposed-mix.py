"""The entries are plain exponentials, and the streams are mixed by the transpose.

Why people make it: both are right for the small symmetric example of the course.
"""

import torch


def sinkhorn(logits, n_iters=20):
    p = logits.float().exp()
    for _ in range(n_iters):
        p = p / p.sum(-2, keepdim=True)
        p = p / p.sum(-1, keepdim=True)
    return p.to(logits.dtype)


def mix_streams(R, X):
    return torch.einsum("ij,...id->...jd", R, X)


def hyper_connection_step(X, R, read, write, branch):
    x = (read[:, None] * X).sum(dim=-2)
    y = branch(x)
    update = torch.einsum("n,...d->...nd", write, y)
    return mix_streams(R, X) + update


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters=20):
    return hyper_connection_step(
        X,
        sinkhorn(residual_logits, n_iters),
        read_logits.sigmoid(),
        write_logits.sigmoid(),
        branch,
    )
