"""After a softmax over the columns it goes on with plain numbers, where a far row is all zeros.

Why people make it: the softmax is stable, so the danger seems to be over after the first step.
"""

import torch
from torch import Tensor


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    P = torch.softmax(logits.float(), dim=-2)
    for i in range(n_iters):
        if i > 0:
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
