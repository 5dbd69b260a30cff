"""A module constant of twenty decides the number of iterations, not the argument.

Why people make it: the number was moved into a named constant, and the parameter stayed for the signature.
"""

from collections.abc import Callable

import torch
from torch import Tensor


SINKHORN_ITERS = 20


def sinkhorn(logits: Tensor, n_iters: int = SINKHORN_ITERS) -> Tensor:
    log_p = logits.to(torch.float32)
    for _ in range(SINKHORN_ITERS):
        log_p = torch.log_softmax(log_p, dim=-2)
        log_p = torch.log_softmax(log_p, dim=-1)
    return log_p.exp().to(logits.dtype)


def mix_streams(R: Tensor, X: Tensor) -> Tensor:
    return torch.matmul(R, X)


def hyper_connection_step(
    X: Tensor, R: Tensor, read: Tensor, write: Tensor, branch: Callable[[Tensor], Tensor]
) -> Tensor:
    layer_in = torch.matmul(read, X)
    layer_out = branch(layer_in)
    return torch.matmul(R, X) + layer_out[..., None, :] * write[:, None]


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
