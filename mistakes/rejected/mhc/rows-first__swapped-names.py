"""dim=-1 is taken for the columns and dim=-2 for the rows.

Why people make it: the last axis counts columns, so it seems natural that reducing it normalises columns.
"""

from collections.abc import Callable

import torch
from torch import Tensor


ROWS, COLUMNS = -2, -1


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    log_p = logits.float()
    for _ in range(n_iters):
        for axis in (COLUMNS, ROWS):
            log_p = log_p - log_p.logsumexp(axis, keepdim=True)
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
