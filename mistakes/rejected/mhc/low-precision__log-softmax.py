"""log_softmax in turn over both axes, in the dtype of the logits.

Why people make it: log_softmax widens inside, so that nothing seems to be lost between the calls.
"""

import torch


def sinkhorn(logits, n_iters=20):
    for _ in range(n_iters):
        logits = logits.log_softmax(dim=-2).log_softmax(dim=-1)
    return logits.exp()


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
