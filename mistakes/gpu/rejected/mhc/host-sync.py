"""Stops early where a round has changed nothing any more.

Why people make it: why go on when the matrix is done? Because the question is
put to the GPU once a round, and the host has to wait for its answer.
"""

import torch


def sinkhorn(logits, n_iters=20):
    log_P = logits.to(torch.promote_types(logits.dtype, torch.float32))
    for _ in range(n_iters):
        before = log_P
        log_P = log_P - torch.logsumexp(log_P, dim=-2, keepdim=True)
        log_P = log_P - torch.logsumexp(log_P, dim=-1, keepdim=True)
        if torch.equal(before.detach(), log_P.detach()):
            break
    return log_P.exp().to(logits.dtype)


def mix_streams(R, X):
    return torch.einsum("ij,...jd->...id", R, X)


def hyper_connection_step(X, R, read, write, branch):
    update = branch(torch.einsum("n,...nd->...d", read, X))
    return mix_streams(R, X) + torch.einsum("n,...d->...nd", write, update)


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters=20):
    R = sinkhorn(residual_logits, n_iters)
    return hyper_connection_step(X, R, torch.sigmoid(read_logits), torch.sigmoid(write_logits), branch)
