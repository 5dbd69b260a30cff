"""One maximum a matrix keeps exp from overflowing, and every stream gets the whole update.

Why people make it: both lines do what they should on a mild example with even weights.
"""

import torch
from torch import Tensor


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    x = logits.float()
    P = torch.exp(x - x.amax(dim=(-1, -2), keepdim=True))
    for _ in range(n_iters):
        P = P / P.sum(dim=-2, keepdim=True)
        P = P / P.sum(dim=-1, keepdim=True)
    return P.to(logits.dtype)


def mix_streams(R: Tensor, X: Tensor) -> Tensor:
    return R @ X


def hyper_connection_step(X: Tensor, R: Tensor, read: Tensor, write: Tensor, branch) -> Tensor:
    out = branch(torch.einsum("n,...nd->...d", read, X))
    return mix_streams(R, X) + out.unsqueeze(-2)


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters: int = 20) -> Tensor:
    R = sinkhorn(residual_logits, n_iters)
    read = torch.sigmoid(read_logits)
    write = torch.sigmoid(write_logits)
    return hyper_connection_step(X, R, read, write, branch)
