"""Subtracts each row's maximum, takes exp, and normalises columns, then rows, from there on.

Why people make it: it is the softmax habit; but the columns come first here, and a row's own constant changes their sums.
"""

import torch
from torch import Tensor


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    x = logits.float()
    P = torch.exp(x - x.max(dim=-1, keepdim=True).values)
    for _ in range(n_iters):
        P = P / P.sum(dim=-2, keepdim=True)
        P = P / P.sum(dim=-1, keepdim=True)
    return P.to(logits.dtype)


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
