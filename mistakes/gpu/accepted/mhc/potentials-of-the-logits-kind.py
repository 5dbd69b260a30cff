"""Row and column potentials that begin at zeros of the logits' own kind."""

import torch


def sinkhorn(logits, n_iters=20):
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    rows = wide.new_zeros(*wide.shape[:-1], 1)
    columns = rows.transpose(-2, -1)
    for _ in range(n_iters):
        columns = -torch.logsumexp(wide + rows, dim=-2, keepdim=True)
        rows = -torch.logsumexp(wide + columns, dim=-1, keepdim=True)
    return torch.exp(wide + rows + columns).to(logits.dtype)


def mix_streams(R, X):
    return torch.einsum("ij,...jd->...id", R, X)


def hyper_connection_step(X, R, read, write, branch):
    update = branch(torch.einsum("n,...nd->...d", read, X))
    return mix_streams(R, X) + torch.einsum("n,...d->...nd", write, update)


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters=20):
    R = sinkhorn(residual_logits, n_iters)
    return hyper_connection_step(X, R, torch.sigmoid(read_logits), torch.sigmoid(write_logits), branch)
