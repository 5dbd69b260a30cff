"""Subtracts in place from a copy of its own, outside the graph's saved tensors."""

import torch
from torch import Tensor


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    log_P = logits.to(torch.float32, copy=True)
    for _ in range(n_iters):
        columns = torch.logsumexp(log_P.clone(), dim=-2, keepdim=True)
        log_P -= columns
        rows = torch.logsumexp(log_P.clone(), dim=-1, keepdim=True)
        log_P -= rows
    return log_P.exp().to(logits.dtype)


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
