"""Loops over the streams and a `stack`."""

import torch


def sinkhorn(logits, n_iters=20):
    a = logits.to(torch.float32)
    for _ in range(n_iters):
        a = a - a.logsumexp(dim=-2, keepdim=True)  # columns
        a = a - a.logsumexp(dim=-1, keepdim=True)  # rows
    return a.exp().to(logits.dtype)


def mix_streams(R, X):
    n = X.shape[-2]
    rows = []
    for i in range(n):
        row = R[i, 0] * X[..., 0, :]
        for j in range(1, n):
            row = row + R[i, j] * X[..., j, :]
        rows.append(row)
    return torch.stack(rows, dim=-2)


def hyper_connection_step(X, R, read, write, branch):
    n = X.shape[-2]
    x = sum(read[j] * X[..., j, :] for j in range(n))
    y = branch(x)
    mixed = mix_streams(R, X)
    return torch.stack([mixed[..., i, :] + write[i] * y for i in range(n)], dim=-2)


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters=20):
    return hyper_connection_step(
        X,
        sinkhorn(residual_logits, n_iters),
        read_logits.sigmoid(),
        write_logits.sigmoid(),
        branch,
    )
