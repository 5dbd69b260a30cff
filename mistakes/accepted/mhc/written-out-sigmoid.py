"""A sigmoid by tanh, and one function that does all of the step."""

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
    h = torch.einsum("n,...nd->...d", read, X)
    out = branch(h)
    return mix_streams(R, X) + write[:, None] * out.unsqueeze(-2)


def _sigmoid(z: Tensor) -> Tensor:
    return 0.5 * (1 + torch.tanh(z / 2))


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters: int = 20) -> Tensor:
    R = sinkhorn(residual_logits, n_iters=n_iters)
    read, write = _sigmoid(read_logits), _sigmoid(write_logits)
    update = branch((read[:, None] * X).sum(-2))
    return R @ X + write[:, None] * update[..., None, :]
