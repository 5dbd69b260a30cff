"""The maximum that keeps exp small is detached; it cancels in value and in gradient."""

import torch


def _normalise(a, dim):
    a = a - a.amax(dim=dim, keepdim=True).detach()
    return a - a.exp().sum(dim=dim, keepdim=True).log()


def sinkhorn(logits, n_iters=20):
    a = logits.float()
    for _ in range(n_iters):
        a = _normalise(_normalise(a, -2), -1)
    return a.exp().to(logits.dtype)


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
