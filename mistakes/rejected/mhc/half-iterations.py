"""One iteration is one normalisation: columns and rows take turns, so n_iters=20 is ten rounds.

Why people make it: the loop body holds a single normalisation with an alternating axis, and every pass is counted.
"""

import torch
from torch import Tensor


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    log_P = logits.float()
    for i in range(n_iters):
        axis = -2 if i % 2 == 0 else -1
        log_P = log_P - torch.logsumexp(log_P, dim=axis, keepdim=True)
    return torch.exp(log_P).to(logits.dtype)


def mix_streams(R: Tensor, X: Tensor) -> Tensor:
    return R @ X


def hyper_connection_step(X: Tensor, R: Tensor, read: Tensor, write: Tensor, branch) -> Tensor:
    h = torch.einsum("n,...nd->...d", read, X)
    out = branch(h)
    return mix_streams(R, X) + write[:, None] * out.unsqueeze(-2)


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters: int = 20) -> Tensor:
    R = sinkhorn(residual_logits, n_iters)
    read = torch.sigmoid(read_logits)
    write = torch.sigmoid(write_logits)
    return hyper_connection_step(X, R, read, write, branch)
