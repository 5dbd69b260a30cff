"""The sums of exponentials are folded with `logaddexp`, one row or column at a time."""

from functools import reduce

import torch
from torch import Tensor


def _log_sum(parts) -> Tensor:
    return reduce(torch.logaddexp, parts)


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    x = logits.float()
    for _ in range(n_iters):
        x = x - _log_sum(x.unbind(dim=-2)).unsqueeze(-2)
        x = x - _log_sum(x.unbind(dim=-1)).unsqueeze(-1)
    return x.exp().to(logits.dtype)


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
