"""The iterations as a recursion."""

import torch
from torch import Tensor


def _project(log_P: Tensor, left: int) -> Tensor:
    if left == 0:
        return log_P
    log_P = log_P - log_P.logsumexp(-2, keepdim=True)
    log_P = log_P - log_P.logsumexp(-1, keepdim=True)
    return _project(log_P, left - 1)


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    return _project(logits.float(), n_iters).exp().to(logits.dtype)


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
