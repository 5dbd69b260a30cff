"""One maximum a matrix is subtracted, and a small constant in the denominators hides the zeros.

Why people make it: dividing zero by zero gave NaN, and an epsilon made it go away.
"""

import torch


def sinkhorn(logits, n_iters=20):
    x = logits.float()
    biggest = x.flatten(-2).max(dim=-1).values[..., None, None]
    p = (x - biggest).exp()
    for _ in range(n_iters):
        p = p / (p.sum(dim=-2, keepdim=True) + 1e-12)
        p = p / (p.sum(dim=-1, keepdim=True) + 1e-12)
    return p.to(logits.dtype)


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
