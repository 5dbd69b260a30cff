"""All but the last normalisation run under no_grad.

Why people make it: in a fixed-point iteration one step of gradient is said to be enough, and the graph stays small.
"""

from collections.abc import Callable

import torch
from torch import Tensor


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    log_p = logits.float()
    with torch.no_grad():
        shift = torch.zeros_like(log_p)
        for _ in range(n_iters):
            shift = shift - torch.logsumexp(log_p + shift, dim=-2, keepdim=True)
            shift = shift - torch.logsumexp(log_p + shift, dim=-1, keepdim=True)
    log_p = torch.log_softmax(log_p + shift, dim=-1)
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
