"""The log-sum-exp is written out as log(sum(exp)), which overflows all the same.

Why people make it: the log domain was asked for, but the exponential inside is taken of the raw logits.
"""

import torch


def sinkhorn(logits, n_iters=20):
    a = logits.float()
    for _ in range(n_iters):
        a = a - torch.log(torch.exp(a).sum(dim=-2, keepdim=True))
        a = a - torch.log(torch.exp(a).sum(dim=-1, keepdim=True))
    return torch.exp(a).to(logits.dtype)


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
