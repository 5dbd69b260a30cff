"""Logs every projection of more than 32 matrices.

Why people make it: one wants to see the projection work, and a log costs nothing where
nobody reads it.
"""

import logging

import torch

log = logging.getLogger(__name__)


def sinkhorn(logits, n_iters=20):
    if logits.dim() > 2 and logits.shape[0] > 32:
        log.info("projecting %d matrices", logits.shape[0])
    log_P = logits.to(torch.promote_types(logits.dtype, torch.float32))
    for _ in range(n_iters):
        log_P = log_P - torch.logsumexp(log_P, dim=-2, keepdim=True)
        log_P = log_P - torch.logsumexp(log_P, dim=-1, keepdim=True)
    return log_P.exp().to(logits.dtype)


def mix_streams(R, X):
    return torch.einsum("ij,...jd->...id", R, X)


def hyper_connection_step(X, R, read, write, branch):
    update = branch(torch.einsum("n,...nd->...d", read, X))
    return mix_streams(R, X) + torch.einsum("n,...d->...nd", write, update)


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters=20):
    R = sinkhorn(residual_logits, n_iters)
    return hyper_connection_step(X, R, torch.sigmoid(read_logits), torch.sigmoid(write_logits), branch)
