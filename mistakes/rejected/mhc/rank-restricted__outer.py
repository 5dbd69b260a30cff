"""The update is an outer product of two vectors, which exists for a single token only.

Why people make it: the formula is written for one token, X with n rows, and ⊗ is an outer product.
"""

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
    return torch.matmul(R, X)


def hyper_connection_step(
    X: Tensor, R: Tensor, read: Tensor, write: Tensor, branch: Callable[[Tensor], Tensor]
) -> Tensor:
    layer_out = branch(read @ X)
    return R @ X + torch.outer(write, layer_out)


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
