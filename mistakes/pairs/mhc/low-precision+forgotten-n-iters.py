"""Works in half precision, and the step does not hand n_iters on.

Why people make it: neither shows in float32 with twenty iterations.
"""

import torch
from torch import Tensor


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    log_P = logits
    for _ in range(n_iters):
        log_P = log_P - torch.logsumexp(log_P, dim=-2, keepdim=True)
        log_P = log_P - torch.logsumexp(log_P, dim=-1, keepdim=True)
    return torch.exp(log_P)


def mix_streams(R: Tensor, X: Tensor) -> Tensor:
    return R @ X


def hyper_connection_step(X: Tensor, R: Tensor, read: Tensor, write: Tensor, branch) -> Tensor:
    h = torch.einsum("n,...nd->...d", read, X)
    out = branch(h)
    return mix_streams(R, X) + write[:, None] * out.unsqueeze(-2)


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters: int = 20) -> Tensor:
    R = sinkhorn(residual_logits)
    return hyper_connection_step(X, R, torch.sigmoid(read_logits), torch.sigmoid(write_logits), branch)
