"""`tensordot` and `movedim` instead of an einsum."""

from collections.abc import Callable

import torch
from torch import Tensor


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    """Alternate column and row normalisation in log space."""
    work = logits.to(torch.promote_types(logits.dtype, torch.float32))
    for _ in range(n_iters):
        for axis in (-2, -1):
            work = work - work.logsumexp(axis, keepdim=True)
    return work.exp().to(logits.dtype)


def mix_streams(R: Tensor, X: Tensor) -> Tensor:
    return torch.tensordot(X, R, dims=([-2], [1])).movedim(-1, -2)


def hyper_connection_step(
    X: Tensor, R: Tensor, read: Tensor, write: Tensor, branch: Callable[[Tensor], Tensor]
) -> Tensor:
    layer_out = branch(torch.tensordot(X, read, dims=([-2], [0])))
    return mix_streams(R, X) + torch.tensordot(layer_out, write, dims=0).movedim(-1, -2)


def mhc_step(
    X: Tensor,
    residual_logits: Tensor,
    read_logits: Tensor,
    write_logits: Tensor,
    branch: Callable[[Tensor], Tensor],
    n_iters: int = 20,
) -> Tensor:
    R = sinkhorn(residual_logits, n_iters)
    return hyper_connection_step(X, R, read_logits.sigmoid(), write_logits.sigmoid(), branch)
