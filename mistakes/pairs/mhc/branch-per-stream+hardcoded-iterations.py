"""The branch runs on every stream, and the projection always takes twenty iterations.

Why people make it: the number stands in the paper, and the branch is thought of as linear.
"""

import torch


def sinkhorn(logits, n_iters=20):
    a = logits.float()
    for _ in range(20):
        a = a.log_softmax(dim=-2).log_softmax(dim=-1)
    return a.exp().to(logits.dtype)


def mix_streams(R, X):
    return torch.einsum("ij,...jd->...id", R, X)


def hyper_connection_step(X, R, read, write, branch):
    n = X.shape[-2]
    outs = torch.stack([branch(X[..., i, :]) for i in range(n)], dim=-2)
    y = (read[:, None] * outs).sum(dim=-2)
    return mix_streams(R, X) + torch.einsum("n,...d->...nd", write, y)


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters=20):
    return hyper_connection_step(
        X,
        sinkhorn(residual_logits, n_iters),
        read_logits.sigmoid(),
        write_logits.sigmoid(),
        branch,
    )
