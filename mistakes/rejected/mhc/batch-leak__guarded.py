"""One maximum over the batch is subtracted, and denominators get a tiny floor.

Why people make it: the floor was added against NaN, which came from the members that had vanished.
"""

from collections.abc import Callable

import torch
from torch import Tensor


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    P = (logits.float() - logits.float().amax()).exp()
    for _ in range(n_iters):
        P = P / P.sum(dim=-2, keepdim=True).clamp_min(1e-20)
        P = P / P.sum(dim=-1, keepdim=True).clamp_min(1e-20)
    return P.to(logits.dtype)


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
