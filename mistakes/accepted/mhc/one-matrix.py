"""Residual and write weights in one matrix that acts on the streams and the update together."""

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
    y = branch(read @ X)
    stacked = torch.cat([X, y.unsqueeze(-2)], dim=-2)
    return torch.cat([R, write[:, None]], dim=1) @ stacked


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters=20):
    return hyper_connection_step(
        X,
        sinkhorn(residual_logits, n_iters),
        read_logits.sigmoid(),
        write_logits.sigmoid(),
        branch,
    )
