"""Two vectors of logarithms, applied once at the end."""

import torch
from torch import Tensor


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    L = logits.float()
    f = torch.zeros(L.shape[:-1], dtype=L.dtype, device=L.device)
    for _ in range(n_iters):
        g = -torch.logsumexp(L + f.unsqueeze(-1), dim=-2)
        f = -torch.logsumexp(L + g.unsqueeze(-2), dim=-1)
    return torch.exp(L + f.unsqueeze(-1) + g.unsqueeze(-2)).to(logits.dtype)


def mix_streams(R: Tensor, X: Tensor) -> Tensor:
    return R @ X


def hyper_connection_step(X: Tensor, R: Tensor, read: Tensor, write: Tensor, branch) -> Tensor:
    h = torch.einsum("n,...nd->...d", read, X)
    out = branch(h)
    return mix_streams(R, X) + write[:, None] * out.unsqueeze(-2)


def mhc_step(X, residual_logits, read_logits, write_logits, branch, n_iters: int = 20) -> Tensor:
    R = sinkhorn(residual_logits, n_iters)
    read = torch.sigmoid(read_logits)
    write = torch.sigmoid(write_logits)
    return hyper_connection_step(X, R, read, write, branch)
