"""Returns float32, whatever dtype the logits have.

Why people make it: the widening at the start was remembered, the cast at the end was not.
"""

import torch
from torch import Tensor


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    log_P = logits.float()
    for _ in range(n_iters):
        log_P = log_P - torch.logsumexp(log_P, dim=-2, keepdim=True)
        log_P = log_P - torch.logsumexp(log_P, dim=-1, keepdim=True)
    return torch.exp(log_P)


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
