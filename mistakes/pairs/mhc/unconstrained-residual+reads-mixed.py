"""R is not projected, and the branch reads the streams after the mix.

Why people make it: X = R X comes first, with whatever R is at hand.
"""

import torch
from torch import Tensor


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    log_P = logits.float()
    for _ in range(n_iters):
        log_P = log_P - torch.logsumexp(log_P, dim=-2, keepdim=True)
        log_P = log_P - torch.logsumexp(log_P, dim=-1, keepdim=True)
    return torch.exp(log_P).to(logits.dtype)


def mix_streams(R: Tensor, X: Tensor) -> Tensor:
    return R @ X


def hyper_connection_step(X: Tensor, R: Tensor, read: Tensor, write: Tensor, branch) -> Tensor:
    X = mix_streams(R, X)
    out = branch(torch.einsum("n,...nd->...d", read, X))
    return X + write[:, None] * out.unsqueeze(-2)


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters: int = 20) -> Tensor:
    read = torch.sigmoid(read_logits)
    write = torch.sigmoid(write_logits)
    return hyper_connection_step(X, residual_logits, read, write, branch)
