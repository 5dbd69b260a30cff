"""A mask keeps the update of the first stream alone.

Why people make it: the widths did not fit, and a one-hot vector made the shapes agree.
"""

import torch


def sinkhorn(logits, n_iters=20):
    a = logits.to(torch.float32)
    for _ in range(n_iters):
        a = a - a.logsumexp(dim=-2, keepdim=True)  # columns
        a = a - a.logsumexp(dim=-1, keepdim=True)  # rows
    return a.exp().to(logits.dtype)


def mix_streams(R, X):
    return torch.einsum("ij,...jd->...id", R, X)


def hyper_connection_step(X, R, read, write, branch):
    y = branch((read[:, None] * X).sum(dim=-2))
    first = torch.zeros_like(write)
    first[0] = 1.0
    return mix_streams(R, X) + (write * first)[:, None] * y[..., None, :]


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters=20):
    return hyper_connection_step(
        X,
        sinkhorn(residual_logits, n_iters),
        read_logits.sigmoid(),
        write_logits.sigmoid(),
        branch,
    )
