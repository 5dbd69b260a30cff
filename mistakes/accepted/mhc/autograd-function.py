"""An `autograd.Function` for one normalisation, with its own backward."""

import torch
from torch import Tensor


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = torch.log_softmax(x, dim)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad - y.exp() * grad.sum(dim=ctx.dim, keepdim=True), None


def sinkhorn(logits: Tensor, n_iters: int = 20) -> Tensor:
    x = logits.float()
    for _ in range(n_iters):
        x = _Normalise.apply(x, -2)
        x = _Normalise.apply(x, -1)
    return x.exp().to(logits.dtype)


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
