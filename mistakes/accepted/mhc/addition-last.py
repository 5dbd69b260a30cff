"""An update made with `torch.add` and `outer`-like broadcasting, extra optional arguments and a helper."""

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


def _spread(update: Tensor, write: Tensor) -> Tensor:
    return update.unsqueeze(-2).expand(*update.shape[:-1], write.shape[0], update.shape[-1]) * write.unsqueeze(-1)


def hyper_connection_step(
    X: Tensor,
    R: Tensor,
    read: Tensor,
    write: Tensor,
    branch: Callable[[Tensor], Tensor],
    scale: float = 1.0,
) -> Tensor:
    update = branch((X * read.unsqueeze(-1)).sum(-2))
    return torch.add(mix_streams(R, X), _spread(update, write), alpha=scale)


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
