"""Sinkhorn normalises the columns alone, a softmax over the first of the two axes.

Why people make it: the first half of an iteration is written and tested, and already gives something that sums to 1.
"""

import torch


def sinkhorn(logits, n_iters=20):
    return logits.float().softmax(dim=-2).to(logits.dtype)


def mix_streams(R, X):
    return torch.einsum("ij,...jd->...id", R, X)


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
