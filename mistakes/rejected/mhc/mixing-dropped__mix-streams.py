"""Streams are never mixed: `mix_streams` computes R X and returns X.

Why people make it: the product is computed into a variable that is not the one returned; public layers have done it.
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
    mixed = torch.einsum("ij,...jd->...id", R, X)
    return X.to(mixed.dtype)


def hyper_connection_step(
    X: Tensor, R: Tensor, read: Tensor, write: Tensor, branch: Callable[[Tensor], Tensor]
) -> Tensor:
    layer_out = branch(torch.matmul(read, X))
    update = layer_out[..., None, :] * write[:, None]
    return mix_streams(R, X) + update


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
