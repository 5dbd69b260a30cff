"""The whole step works in float32; the branch still receives the dtype of the streams."""

import torch


def sinkhorn(logits, n_iters=20):
    a = logits.to(torch.float32)
    for _ in range(n_iters):
        a = a - a.logsumexp(dim=-2, keepdim=True)  # columns
        a = a - a.logsumexp(dim=-1, keepdim=True)  # rows
    return a.exp().to(logits.dtype)


def mix_streams(R, X):
    return (R.float() @ X.float()).to(X.dtype)


def hyper_connection_step(X, R, read, write, branch):
    wide = X.float()
    y = branch(torch.einsum("n,...nd->...d", read.float(), wide).to(X.dtype))
    update = write.float()[:, None] * y.float().unsqueeze(-2)
    return (R.float() @ wide + update).to(X.dtype)


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters=20):
    return hyper_connection_step(
        X,
        sinkhorn(residual_logits, n_iters),
        read_logits.sigmoid(),
        write_logits.sigmoid(),
        branch,
    )
