"""A log-sum-exp of one's own that subtracts the maximum along the same axis."""

import torch
from torch import Tensor


def _lse(x: Tensor, dim: int) -> Tensor:
    top = x.amax(dim=dim, keepdim=True)
    return top + torch.log(torch.exp(x - top).sum(dim=dim, keepdim=True))


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    x = logits.float()
    for _ in range(n_iters):
        x = x - _lse(x, -2)
        x = x - _lse(x, -1)
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
