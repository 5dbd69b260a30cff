"""The sums are detached, as if dividing by them were dividing by constants.

Why people make it: the normalisers are only scale factors, so keeping them out of the graph seems to save memory for free.
"""

import torch


def sinkhorn(logits, n_iters=20):
    a = logits.float()
    for _ in range(n_iters):
        a = a - a.logsumexp(dim=-2, keepdim=True).detach()
        a = a - a.logsumexp(dim=-1, keepdim=True).detach()
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
