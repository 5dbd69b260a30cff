"""The step never mixes: it returns X plus the written update.

Why people make it: a residual connection adds to what was there, and R was meant for the reading.
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
    layer_out = branch(torch.matmul(read, X))
    update = layer_out[..., None, :] * write[:, None]
    return X + update


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
