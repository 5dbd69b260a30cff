"""`n_iters` by keyword, and lambdas for the weights."""

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
    x = (read[:, None] * X).sum(dim=-2)
    y = branch(x)
    update = torch.einsum("n,...d->...nd", write, y)
    return mix_streams(R, X) + update


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters=20, *, temperature=1.0):
    squash = lambda z: torch.nn.functional.sigmoid(z / temperature)
    return hyper_connection_step(
        X=X,
        R=sinkhorn(residual_logits / temperature, n_iters=n_iters),
        read=squash(read_logits),
        write=squash(write_logits),
        branch=branch,
    )
